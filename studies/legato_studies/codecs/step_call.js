// A page that calls itself: its camera is coded by Chromium's own encoder, whose target is set by maxBitrate when its
// frame comes. Returns the RTP timestamp and the size in bytes of every coded frame.
// In an object: what evaluates to a function would be called by Playwright as it is loaded.
window.encoder = {
  async step(codec, steps, count) {
    const worker = new Worker(
      URL.createObjectURL(
        new Blob(
          [
            `onrtctransform = async ({ transformer }) => {
               const reader = transformer.readable.getReader();
               const writer = transformer.writable.getWriter();
               for (;;) {
                 const { done, value } = await reader.read();
                 if (done) return;
                 postMessage([value.getMetadata().rtpTimestamp ?? value.timestamp, value.data.byteLength]);
                 writer.write(value);
               }
             };`,
          ],
          { type: "text/javascript" },
        ),
      ),
    );
    const [near, far] = [new RTCPeerConnection(), new RTCPeerConnection()];
    near.onicecandidate = ({ candidate }) => candidate && far.addIceCandidate(candidate);
    far.onicecandidate = ({ candidate }) => candidate && near.addIceCandidate(candidate);
    const stream = await navigator.mediaDevices.getUserMedia({ video: { frameRate: { ideal: 30 } } });
    const [track] = stream.getVideoTracks();
    const transceiver = near.addTransceiver(track, { direction: "sendonly" });
    transceiver.setCodecPreferences(
      RTCRtpSender.getCapabilities("video").codecs.filter(
        ({ mimeType, sdpFmtpLine }) =>
          mimeType.toLowerCase() === `video/${codec}` &&
          (codec !== "h264" || (sdpFmtpLine.includes("packetization-mode=1") && sdpFmtpLine.includes("42e01f"))),
      ),
    );
    const { sender } = transceiver;
    sender.transform = new RTCRtpScriptTransform(worker);
    const frames = [];
    const left = steps.slice();
    const target = async (bps) => {
      const parameters = sender.getParameters();
      parameters.degradationPreference = "maintain-resolution";
      parameters.encodings[0].maxBitrate = bps;
      await sender.setParameters(parameters);
    };
    const over = new Promise((done) => {
      worker.onmessage = ({ data }) => {
        frames.push(data);
        const place = Math.round(((data[0] - frames[0][0]) >>> 0) / 3000);
        // The next frame is the first one at the new target.
        if (left.length && place >= left[0][0] - 1) target(left.shift()[1]);
        if (place >= count) done();
      };
    });
    await near.setLocalDescription(await near.createOffer());
    await far.setRemoteDescription(near.localDescription);
    await far.setLocalDescription(await far.createAnswer());
    const start = `x-google-start-bitrate=${Math.round(steps[0][1] / 1000)}`;
    const type = far.localDescription.sdp.match(/a=rtpmap:(\d+) (?:H264|VP8)/i)[1];
    const fmtp = new RegExp(`(a=fmtp:${type} [^\\r\\n]*)`);
    const { sdp } = far.localDescription;
    const limited = fmtp.test(sdp)
      ? sdp.replace(fmtp, `$1;${start}`)
      : sdp.replace(new RegExp(`(a=rtpmap:${type} [^\\r\\n]*)`), `$1\r\na=fmtp:${type} ${start}`);
    await near.setRemoteDescription({ type: "answer", sdp: limited });
    await target(left.shift()[1]);
    await over;
    near.close();
    far.close();
    return frames;
  },
};
