// SPDX-License-Identifier: Apache-2.0
// Search in pages that are opened from a folder: there browsers refuse to start a worker, so its
// script runs in a hidden frame. The index comes from search_index.js, which the hook writes.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.started = new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        frame.addEventListener("load", () => resolve(this.start(frame.contentWindow, url)), {
          once: true,
        });
        document.body.append(frame);
      });
    }

    async start(inside, url) {
      const load = (address) =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script");
          script.src = address;
          script.onload = resolve;
          script.onerror = reject;
          inside.document.body.append(script);
        });
      inside.importScripts = async (...urls) => {
        for (const one of urls) await load(one);
      };
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      await load(url);
      return inside;
    }

    async postMessage(data) {
      const inside = await this.started;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
  };
}
