// The link contains the prompts after #, which browsers send to no server.
window.pqpp = {
  maxPrompts: 100,

  // Write the prompts and the target to the address bar, unless the list is too long for a link.
  writeLink(text, target) {
    const prompts = text.split(/\r\n|\r|\n/).filter((line) => line.trim());
    const query = new URLSearchParams(prompts.map((prompt) => ["prompt", prompt]));
    query.append("explain", target);
    const fitsInLink = prompts.length > 0 && prompts.length <= this.maxPrompts + 1; // a table has a header
    history.replaceState(null, "", fitsInLink ? `#${query}` : location.pathname + location.search);
    return [text, target];
  },

  // Read the prompts and the target of the address. Without them nothing changes: the visitor may
  // be typing already.
  readLink() {
    const query = new URLSearchParams(location.hash.slice(1));
    const prompts = query.getAll("prompt").slice(0, this.maxPrompts + 1);
    const inputs = [...document.querySelectorAll("#explain input")];
    const isKnown = inputs.some((input) => input.value === query.get("explain"));
    const unchanged = { __type__: "update" };
    this.opened = prompts.length > 0;
    return [
      this.opened ? prompts.join("\n") : unchanged,
      this.opened && isKnown ? query.get("explain") : unchanged,
    ];
  },

  async copyLink() {
    const makeStatus = (text) => `<p role="status">${text}</p>`;
    if (!location.hash) return makeStatus(`There is no link yet; predict up to ${this.maxPrompts} prompts first.`);
    try {
      await navigator.clipboard.writeText(location.href);
      return makeStatus("Copied. The prompts are after the # of the link, which no server sees.");
    } catch {
      return makeStatus("The address of this page is the link: copy it from the address bar.");
    }
  },

  // Read a file into the box, in the browser.
  async readFile(input) {
    const box = document.querySelector("#box textarea");
    box.value = await input.files[0].text();
    box.dispatchEvent(new Event("input"));
    input.value = "";
  },

  // Sort the rows of a table by a column, numbers as numbers, in reverse at the second click.
  sort(heading) {
    const column = heading.cellIndex, body = heading.closest("table").tBodies[0];
    const isDescending = heading.getAttribute("aria-sort") === "ascending";
    const getKey = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const areNumbers = "value" in body.rows[0].cells[column].dataset;
    const rows = [...body.rows].sort((a, b) => {
      const [first, second] = [getKey(a), getKey(b)];
      if (!first || !second) return !first - !second; // missing values come last
      const order = areNumbers ? first - second : first.localeCompare(second);
      return isDescending ? -order : order;
    });
    body.append(...rows);
    for (const cell of heading.parentElement.cells) cell.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
  },
};

// Predict after a pause in typing.
document.addEventListener("input", (event) => {
  const box = event.target.closest?.("#box textarea");
  if (!box) return;
  clearTimeout(window.pqpp.pause);
  const predict = () => document.querySelector("#predict").click();
  if (box.value.trim()) window.pqpp.pause = setTimeout(predict, 800);
});
document.addEventListener("change", (event) => {
  if (event.target.id === "file" && event.target.files.length) window.pqpp.readFile(event.target);
});
document.addEventListener("click", (event) => {
  if (event.target.closest?.("#predict")) clearTimeout(window.pqpp.pause);
  const button = event.target.closest?.("#answer .bar-table thead button");
  if (button) window.pqpp.sort(button.parentElement);
});

// Another link of this page was opened in the same tab.
window.addEventListener("hashchange", () => location.reload());
