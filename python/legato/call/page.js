// The other end of a real call, in the browser's page: answers an offer, plays the video, and keeps what can be
// told of it: every frame that was put on the screen, and the receiver's statistics when asked. All times are
// the page's performance.now(), in ms.
window.legato = {
  frames: [],
  failure: null,

  async answer(offer) {
    const connection = new RTCPeerConnection();
    const video = document.querySelector("video");
    this.connection = connection;
    connection.ontrack = ({ track }) => {
      video.srcObject = new MediaStream([track]);
      video.play().catch((error) => (this.failure = String(error)));
      const each = (now, frame) => {
        this.frames.push([
          frame.rtpTimestamp,
          frame.receiveTime ?? null,
          frame.presentationTime,
          frame.expectedDisplayTime,
          frame.processingDuration ?? null,
          frame.width,
          frame.height,
          frame.presentedFrames,
        ]);
        video.requestVideoFrameCallback(each);
      };
      video.requestVideoFrameCallback(each);
    };
    await connection.setRemoteDescription({ type: "offer", sdp: offer });
    await connection.setLocalDescription(await connection.createAnswer());
    if (connection.iceGatheringState !== "complete") {
      await new Promise((done) => {
        connection.onicegatheringstatechange = () => connection.iceGatheringState === "complete" && done();
      });
    }
    return connection.localDescription.sdp;
  },

  // What has come since the last time.
  async poll() {
    const reports = [...(await this.connection.getStats()).values()];
    const inbound = reports.find((report) => report.type === "inbound-rtp" && report.kind === "video") ?? null;
    const frames = this.frames.splice(0);
    return { now: performance.now(), state: this.connection.connectionState, failure: this.failure, inbound, frames };
  },

  close() {
    this.connection?.close();
  },
};
