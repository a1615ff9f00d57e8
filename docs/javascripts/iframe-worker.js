// SPDX-License-Identifier: Apache-2.0
// A page that was opened as a file may not start a Worker. The search then runs in a hidden frame of the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.deliver(this, data);
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = () => {
        this.loaded = true;
        this.waiting.splice(0).forEach((data) => this.deliver(inside, data));
      };
      this.frame.contentDocument.documentElement.appendChild(script);
    }

    deliver(target, data) {
      const event = new MessageEvent("message", { data });
      target.dispatchEvent(event);
      if (target === this && this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      if (this.loaded) this.deliver(this.frame.contentWindow, data);
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
