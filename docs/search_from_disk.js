// Browsers start no workers for pages opened from a disk. The search then runs in a hidden frame, which looks like a worker to the theme.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise(done => { this.frame.onload = done; });
      window.addEventListener("message", event => {
        if (event.source === this.frame.contentWindow) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      this.frame.srcdoc = `<script>postMessage = data => parent.postMessage(data, "*")<\/script><script src="${url}"><\/script>`;
      document.body.appendChild(this.frame);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
}
