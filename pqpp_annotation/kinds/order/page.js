// The images of a prompt are pressed best first, then dragged or moved by buttons and keys; ties
// where the study allows them.
import {isOnControl, make, parts, showPrompt} from "../parts.js";
import {gettext} from "../../texts.js";

const LETTERS = "ABCDEFGHIJKL";
const FAR = 8; // pixels that a pointer moves before it drags

export function start(task, api) {
  const part = parts(api.root);
  const {images} = task;
  const letter = id => LETTERS[images.findIndex(image => image.id === id)];
  const before = [];
  let ranked = []; // ids, the best first
  let tied = new Set(); // those that share the place of the one before
  let wasDragged = false;

  const given = task.answers.item?.places;
  if (given) {
    ranked = Object.keys(given).sort((one, other) => given[one] - given[other]);
    tied = new Set(ranked.filter((id, place) => place > 0 && given[id] === given[ranked[place - 1]]));
  }
  showPrompt(part.prompt, task.prompt);
  part.question.textContent = task.settings.question;

  /** Place of each image that has one, from 1, without gaps. */
  function places() {
    const found = {};
    let place = 0;
    for (const id of ranked) {
      if (!tied.has(id)) place += 1;
      found[id] = place;
    }
    return found;
  }

  const cards = new Map(images.map(({id, url, width, height}) => {
    const imageName = gettext("image {name}", {name: letter(id)});
    const badge = make("span", {class: "badge-place", "aria-hidden": "true"});
    const pick = make(
      "button", {type: "button", class: "pick", "data-image": id},
      make("img", {src: url, alt: "", width, height, draggable: "false"}), badge,
    );
    const move = (text, label, run) => {
      const button = make("button", {type: "button", class: "quiet", "aria-label": `${label} ${imageName}`}, text);
      button.addEventListener("click", run, {signal: api.signal});
      return button;
    };
    const moves = make(
      "div", {class: "moves"},
      move("◀", gettext("Better:"), () => shift(id, -1)), move("▶", gettext("Worse:"), () => shift(id, 1)),
      ...(task.settings.ties ? [move("=", gettext("Tied with the previous image:"), () => tie(id))] : []),
    );
    const card = make("li", {class: "card", "data-card": id}, pick, moves);
    pick.addEventListener("click", () => wasDragged || choose(id), {signal: api.signal});
    pick.addEventListener("pointerdown", event => drag(event, id), {signal: api.signal});
    part.cards.append(card);
    return [id, {card, pick, badge, moves}];
  }));

  function change(make_) {
    before.push([[...ranked], new Set(tied)]);
    make_();
    if (ranked.length) tied.delete(ranked[0]);
    draw();
  }

  function say(id) {
    const place = places()[id];
    const left = images.length - ranked.length;
    const rest = left ? gettext("{left} left.", {left}) : gettext("All images ranked. Press Enter to continue.");
    const said = gettext("Image {name}: rank {place}.", {name: letter(id), place});
    api.say(`${said} ${rest}`);
  }

  /** Give an image the next place. */
  function choose(id) {
    if (ranked.includes(id)) return;
    change(() => ranked.push(id));
    say(id);
    if (ranked.length === images.length) part.next.focus({preventScroll: true});
  }

  function shift(id, step) {
    if (!ranked.includes(id)) {
      choose(id);
      return;
    }
    const to = ranked.indexOf(id) + step;
    if (to < 0 || to >= ranked.length) return;
    moveTo(id, to);
    cards.get(id).moves.children[step < 0 ? 0 : 1].focus({preventScroll: true});
  }

  function moveTo(id, to) {
    change(() => {
      const from = ranked.indexOf(id);
      if (from >= 0) {
        const behind = ranked[from + 1];
        // Who shared its place with the one that leaves begins a place, or joins the one before.
        if (behind !== undefined && tied.has(behind) && !tied.has(id)) tied.delete(behind);
        ranked.splice(from, 1);
      }
      tied.delete(id);
      ranked.splice(to, 0, id);
      const after = ranked[to + 1];
      if (after !== undefined && tied.has(after)) tied.add(id);
    });
    say(id);
  }

  function tie(id) {
    if (ranked.indexOf(id) < 1) return;
    change(() => (tied.has(id) ? tied.delete(id) : tied.add(id)));
    say(id);
  }

  function undo() {
    const last = before.pop();
    if (!last) return;
    [ranked, tied] = last;
    draw();
    api.say(gettext("Undone"));
  }

  /** Follow a pointer that carries an image to another's place; a finger scrolls instead. */
  function drag(event, id) {
    wasDragged = false;
    if (event.pointerType === "touch" || event.button !== 0) return;
    const stop = new AbortController();
    const target = moved => {
      const card = document.elementFromPoint(moved.clientX, moved.clientY)?.closest("[data-card]");
      return card && card.dataset.card !== id && ranked.includes(card.dataset.card) ? card : null;
    };
    addEventListener("pointermove", moved => {
      wasDragged ||= Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) > FAR;
      for (const {card} of cards.values()) card.classList.toggle("over", wasDragged && card === target(moved));
    }, {signal: stop.signal});
    addEventListener("pointerup", moved => {
      stop.abort();
      for (const {card} of cards.values()) card.classList.remove("over");
      const card = wasDragged && target(moved);
      if (card) moveTo(id, ranked.indexOf(card.dataset.card));
      setTimeout(() => (wasDragged = false)); // the click that follows is none
    }, {signal: stop.signal});
    addEventListener("pointercancel", () => stop.abort(), {signal: stop.signal});
  }

  function draw() {
    const found = places();
    part.cards.append(...[...ranked, ...images.map(({id}) => id).filter(id => !ranked.includes(id))].map(id => cards.get(id).card));
    for (const [id, {card, pick, badge, moves}] of cards) {
      const place = found[id];
      badge.textContent = place ?? "";
      card.classList.toggle("placed", place !== undefined);
      pick.setAttribute("aria-label", place
        ? gettext("Image {name}: rank {place}.", {name: letter(id), place})
        : gettext("Image {name}, not ranked yet", {name: letter(id)}));
      moves.hidden = place === undefined;
      moves.children[2]?.setAttribute("aria-pressed", String(tied.has(id)));
    }
    part.next.setAttribute("aria-disabled", String(ranked.length < images.length));
    part.undo.disabled = before.length === 0;
  }

  function goOn() {
    if (ranked.length < images.length) {
      api.say(gettext("{count} images not ranked yet", {count: images.length - ranked.length}));
      return;
    }
    api.save(null, {places: places()}).catch(error => (part.error.textContent = error.message));
    api.done();
  }

  part.next.addEventListener("click", goOn, {signal: api.signal});
  part.undo.addEventListener("click", undo, {signal: api.signal});
  const focused = () => document.activeElement?.closest("[data-card]")?.dataset.card;
  api.shortcuts([
    ...images.slice(0, 9).map(({id}, place) => ({
      key: String(place + 1), label: gettext("Rank image {name} next", {name: LETTERS[place]}), run: () => choose(id),
    })),
    {key: "ArrowLeft", label: gettext("Move the focused image forward"), run: () => focused() && shift(focused(), -1)},
    {key: "ArrowRight", label: gettext("Move the focused image backward"), run: () => focused() && shift(focused(), 1)},
    ...(task.settings.ties ? [{key: "=", label: gettext("Tie the focused image with the previous image"), run: () => focused() && tie(focused())}] : []),
    {key: "Backspace", label: gettext("Undo"), run: undo},
    {key: "Enter", label: gettext("Continue"), run: () => isOnControl() || goOn()},
  ]);
  draw();
  return {};
}
