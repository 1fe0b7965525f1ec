// What is said so far, with undo; kept in the browser until it is sent, as a half answer is none.

const empty = () => ({implausible: [], misaligned: [], words: [], scores: {}, inappropriate: false});

export class Draft {
  #key;
  #before = [];

  constructor(key, answer) {
    this.#key = key;
    this.value = structuredClone(this.#kept() ?? answer ?? empty());
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

  #keep() {
    try {
      localStorage.setItem(this.#key, JSON.stringify(this.value));
    } catch { /* Full, or a browser that keeps nothing: it stays in the page. */ }
  }
}
