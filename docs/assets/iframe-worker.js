// Browsers start no Worker for a page that was opened from file://. This replacement runs the script in a hidden frame, so
// that the search of the site works there too. The name tells MkDocs Material that no shim of another host is needed.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc =
        "<script>self.postMessage = (data) => parent.postMessage(data, '*')</script>" + `<script src="${address}"></script>`;
      this.loaded = new Promise((done) => this.frame.addEventListener("load", done, { once: true }));
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
      document.body.append(this.frame);
    }
    postMessage(data) {
      const message = new MessageEvent("message", { data });
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(message));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
