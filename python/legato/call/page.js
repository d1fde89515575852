// The other end of a real call, in the browser's page: answers an offer, plays the video, and keeps what can be
// told of it: every frame that was put on the screen, and the receiver's statistics when asked. Or an end that
// sends what its camera sees. All times are the page's performance.now(), in ms.
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
    return this.gathered();
  },

  // An offer to send what the camera sees, in "h264", "vp8" or "vp9".
  async offer(width, height, fps, codec) {
    const connection = new RTCPeerConnection();
    this.connection = connection;
    const exact = (value) => ({ exact: value });
    const video = { width: exact(width), height: exact(height), frameRate: { ideal: fps } };
    const stream = await navigator.mediaDevices.getUserMedia({ video });
    const transceiver = connection.addTransceiver(stream.getVideoTracks()[0], { direction: "sendonly" });
    const codecs = RTCRtpSender.getCapabilities("video").codecs;
    const isWanted = {
      h264: ({ mimeType, sdpFmtpLine }) =>
        mimeType === "video/H264" && sdpFmtpLine.includes("packetization-mode=1") && sdpFmtpLine.includes("42e01f"),
      vp8: ({ mimeType }) => mimeType === "video/VP8",
      vp9: ({ mimeType, sdpFmtpLine }) => mimeType === "video/VP9" && sdpFmtpLine.includes("profile-id=0"),
    };
    const wanted = codecs.filter((one) => one.mimeType === "video/rtx" || isWanted[codec](one));
    transceiver.setCodecPreferences(wanted);
    await connection.setLocalDescription(await connection.createOffer());
    return this.gathered();
  },

  // The answer to it.
  async answered(answer, maxBitrate) {
    await this.connection.setRemoteDescription({ type: "answer", sdp: answer });
    const [sender] = this.connection.getSenders();
    const parameters = sender.getParameters();
    parameters.encodings[0].maxBitrate = maxBitrate;
    await sender.setParameters(parameters);
  },

  // The local description once all candidates are in it.
  async gathered() {
    const { connection } = this;
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
    const video = (type) => reports.find((report) => report.type === type && report.kind === "video") ?? null;
    const transport = reports.find((report) => report.type === "transport");
    const pair = reports.find((report) => report.id === transport?.selectedCandidatePairId) ?? null;
    const { failure, connection } = this;
    const frames = this.frames.splice(0);
    const [inbound, outbound] = [video("inbound-rtp"), video("outbound-rtp")];
    return { now: performance.now(), state: connection.connectionState, failure, inbound, outbound, pair, frames };
  },

  close() {
    this.connection?.close();
  },
};
