// What pages say, in the page's language; a text is found by what it is in English.

const texts = JSON.parse(document.getElementById("texts")?.textContent ?? "{}");

/** The text, with what stands in {braces} filled in. */
export function gettext(english, values = {}) {
  return (texts[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
