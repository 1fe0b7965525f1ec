// The link that holds the prompts: in the part behind #, which browsers send to no server.
window.pqpp = {
  most: 100,

  // Note what is asked in the address bar; a longer list is too long for a link.
  hold(text, target) {
    const prompts = text.split(/\r\n|\r|\n/).filter((line) => line.trim());
    const held = new URLSearchParams(prompts.map((prompt) => ["prompt", prompt]));
    held.append("explain", target);
    const fits = prompts.length > 0 && prompts.length <= this.most + 1; // a table has a header
    history.replaceState(null, "", fits ? `#${held}` : location.pathname + location.search);
    return [text, target];
  },

  // What the address holds. Without it nothing changes: somebody may be typing already.
  held() {
    const held = new URLSearchParams(location.hash.slice(1));
    const prompts = held.getAll("prompt").slice(0, this.most + 1);
    const inputs = [...document.querySelectorAll("#explain input")];
    const known = inputs.some((input) => input.value === held.get("explain"));
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

  // A file is read here, in the browser, into the box.
  async read(input) {
    const box = document.querySelector("#box textarea");
    box.value = await input.files[0].text();
    box.dispatchEvent(new Event("input"));
    input.value = "";
  },

  // Sort the rows of a table by a column, numbers as numbers, the other way at the second click.
  sort(heading) {
    const column = heading.cellIndex, body = heading.closest("table").tBodies[0];
    const falls = heading.getAttribute("aria-sort") === "ascending";
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const areNumbers = "value" in body.rows[0].cells[column].dataset;
    const rows = [...body.rows].sort((one, other) => {
      const [first, second] = [key(one), key(other)];
      if (!first || !second) return !first - !second; // what has no value stands last
      const order = areNumbers ? first - second : first.localeCompare(second);
      return falls ? -order : order;
    });
    body.append(...rows);
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
  },
};

// Answer after a pause in typing.
document.addEventListener("input", (event) => {
  const box = event.target.closest?.("#box textarea");
  if (!box) return;
  clearTimeout(window.pqpp.pause);
  const ask = () => document.querySelector("#ask").click();
  if (box.value.trim()) window.pqpp.pause = setTimeout(ask, 800);
});
document.addEventListener("change", (event) => {
  if (event.target.id === "file" && event.target.files.length) window.pqpp.read(event.target);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("#answer .bar-table thead button");
  if (button) window.pqpp.sort(button.parentElement);
});

// Another link of this page was opened in the same tab.
window.addEventListener("hashchange", () => location.reload());
