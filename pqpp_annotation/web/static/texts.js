// Texts in the page's language, by English text.

const texts = JSON.parse(document.getElementById("texts")?.textContent ?? "{}");

/** Return the translation, with names in {braces} replaced by their values. */
export function gettext(english, values = {}) {
  return (texts[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
