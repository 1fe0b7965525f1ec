// The link that holds the prompts: in the part behind #, which browsers send to no server.
window.pqpp = {
  most: 4,

  // Note what is asked in the address bar; a list is too long for a link.
  hold(text, target) {
    const prompts = text.split(/\r\n|\r|\n/).map((one) => one.trim()).filter(Boolean);
    const held = new URLSearchParams(prompts.map((one) => ["prompt", one]));
    held.append("explain", target);
    const fits = prompts.length > 0 && prompts.length <= this.most;
    history.replaceState(null, "", fits ? `#${held}` : location.pathname + location.search);
    return [text, target];
  },

  // What the address holds. Without it nothing changes: somebody may be typing already.
  held() {
    const held = new URLSearchParams(location.hash.slice(1));
    const prompts = held.getAll("prompt").slice(0, this.most);
    const inputs = [...document.querySelectorAll("#explain input")];
    const known = inputs.some((one) => one.value === held.get("explain"));
    const unchanged = { __type__: "update" };
    this.opened = prompts.length > 0;
    return [
      this.opened ? prompts.join("\n") : unchanged,
      this.opened && known ? held.get("explain") : unchanged,
    ];
  },

  async copy() {
    const say = (words) => `<p role="status">${words}</p>`;
    if (!location.hash) return say(`There is no link yet: ask about up to ${this.most} prompts first.`);
    try {
      await navigator.clipboard.writeText(location.href);
      return say("Copied. The prompts stand behind the # of the link, which no server sees.");
    } catch {
      return say("The address of this page is the link: copy it from the address bar.");
    }
  },
};

// Another link of this page was opened in the same tab.
window.addEventListener("hashchange", () => location.reload());
