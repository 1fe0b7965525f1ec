// What is said so far, with undo; kept in the browser until it is whole, as a half answer is none.

const empty = () => ({implausible: [], misaligned: [], words: [], scores: {}, inappropriate: false});

export class Draft {
  #key;
  #before = [];

  constructor(key, answer) {
    this.#key = key;
    const kept = this.#kept();
    // What was sent stands in the answer by now, or in a later one from elsewhere.
    this.value = structuredClone((kept?.isSent ? answer : null) ?? kept?.value ?? answer ?? empty());
  }

  get canUndo() {
    return this.#before.length > 0;
  }

  /** Make a change that can be undone. */
  change(make) {
    this.#before.push(structuredClone(this.value));
    make();
    this.#keep();
  }

  undo() {
    const before = this.#before.pop();
    if (!before) return false;
    Object.assign(this.value, before);
    this.#keep();
    return true;
  }

  /** Say that it is whole and on its way. */
  send() {
    this.#keep(true);
  }

  forget() {
    try {
      localStorage.removeItem(this.#key);
    } catch { /* A browser that keeps nothing. */ }
  }

  #kept() {
    try {
      return JSON.parse(localStorage.getItem(this.#key));
    } catch {
      return null;
    }
  }

  #keep(isSent = false) {
    try {
      localStorage.setItem(this.#key, JSON.stringify({value: this.value, isSent}));
    } catch { /* Full, or a browser that keeps nothing: it stays in the page. */ }
  }
}
