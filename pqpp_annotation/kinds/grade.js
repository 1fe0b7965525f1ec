// One choice for each image: the image large, the choices beside it, a strip of all images.
import {choiceButton, isOnControl, make, parts, placeIn, showPrompt, zoomable} from "./parts.js";
import {gettext} from "../texts.js";

/**
 * Run a task whose answer is {label} for each image.
 * choices: [{value, keys, name, help}]; isScale: the choices stand in a row, as steps;
 * others: further shortcuts.
 */
export function grade(task, api, choices, {isScale = false, others = []} = {}) {
  const part = parts(api.root);
  const {images} = task;
  const given = new Map();
  for (const {id} of images) if (id in task.answers) given.set(id, task.answers[id].label);
  let place = Math.max(0, images.findIndex(({id}) => !given.has(id)));

  const trail = []; // the images in the order in which they were judged here

  showPrompt(part.prompt, task.prompt);
  part.question.textContent = task.settings.question;
  part.choices.classList.toggle("scale", isScale);
  part.stage.style.setProperty("--ratio", Math.min(...images.map(({width, height}) => width / height)));
  part.thumbs.hidden = images.length < 2;
  part.thumbs.classList.toggle("many", images.length > 12);
  const zoom = zoomable([part.stage], part.zoom, api);
  const onDouble = event => zoom.toggle(placeIn(part.image, event));
  part.image.addEventListener("dblclick", onDouble, {signal: api.signal});
  const imageName = number => gettext("Image {number} of {count}", {number: number + 1, count: images.length});
  const nameOf = value => {
    const choice = choices.find(one => one.value === value);
    return isScale && choice.help ? `${choice.name}, ${choice.help}` : choice.name;
  };

  const buttons = choices.map((choice, number) => {
    const button = choiceButton(choice, number, api, () => choose(choice.value));
    part.choices.append(button);
    return button;
  });
  const thumbs = images.map(({url}, number) => {
    const thumb = make(
      "button", {type: "button", class: "thumb"},
      make("img", {src: url, alt: "", loading: "lazy"}), make("span", {class: "mark", "aria-hidden": "true"}),
    );
    thumb.addEventListener("click", () => show(number), {signal: api.signal});
    part.thumbs.append(thumb);
    return thumb;
  });

  function draw() {
    const {id} = images[place];
    choices.forEach(({value}, number) => {
      buttons[number].setAttribute("aria-pressed", String(given.get(id) === value));
    });
    images.forEach((image, number) => {
      const isGiven = given.has(image.id);
      const state = isGiven ? nameOf(given.get(image.id)) : gettext("not rated yet");
      thumbs[number].setAttribute("aria-label", `${imageName(number)}, ${state}`);
      thumbs[number].setAttribute("aria-current", String(number === place));
      thumbs[number].lastChild.textContent =
        isGiven ? choices.find(one => one.value === given.get(image.id)).keys[0] : "";
    });
    const left = images.length - given.size;
    part.next.setAttribute("aria-disabled", String(left > 0));
  }

  function show(number) {
    place = number;
    const {url, width, height} = images[place];
    zoom.off();
    Object.assign(part.image, {src: url, width, height, alt: imageName(place)});
    showThumb(thumbs[place]);
    new Image().src = images[(place + 1) % images.length].url; // there when it is wanted
    draw();
    const answer = given.get(images[place].id);
    if (images.length > 1) {
      api.say(`${imageName(place)}${answer === undefined ? "" : `, ${nameOf(answer)}`}`);
    }
  }

  /** Scroll the strip, and never the page, to a thumb. */
  function showThumb(thumb) {
    const [strip, own] = [part.thumbs.getBoundingClientRect(), thumb.getBoundingClientRect()];
    part.thumbs.scrollLeft += own.left - strip.left - (strip.width - own.width) / 2;
    part.thumbs.scrollTop += own.top - strip.top - (strip.height - own.height) / 2;
  }

  function choose(value) {
    const {id} = images[place];
    const before = given.get(id);
    given.set(id, value);
    trail.push(place);
    part.error.textContent = "";
    api.save(id, {label: value}).catch(error => {
      // Not kept: what was there before is shown again.
      if (before === undefined) given.delete(id);
      else given.set(id, before);
      part.error.textContent = error.message;
      draw();
    });
    draw();
    const next = nextOpen();
    if (next === null) {
      api.say(`${nameOf(value)}. ${gettext("All images rated. Press Enter to continue.")}`);
      part.next.focus({preventScroll: true});
    } else if (before === undefined) {
      show(next);
    }
  }

  /** The first image behind this one without an answer, else the first of all; null if none. */
  function nextOpen() {
    for (let step = 1; step <= images.length; step += 1) {
      const number = (place + step) % images.length;
      if (!given.has(images[number].id)) return number;
    }
    return null;
  }

  function goOn() {
    const next = nextOpen();
    if (next === null) {
      api.done();
      return;
    }
    show(next);
    api.say(gettext("{left} of {count} images not rated yet", {left: images.length - given.size, count: images.length}));
  }

  part.next.addEventListener("click", goOn, {signal: api.signal});
  const shortcuts = choices.map(({keys, name, help, value}) => ({
    keys, label: isScale && help ? `${name}: ${help}` : name, run: () => choose(value),
  }));
  if (images.length > 1) {
    const turn = step => () => show((place + step + images.length) % images.length);
    shortcuts.push({key: "ArrowRight", label: gettext("Next image"), run: turn(1)});
    shortcuts.push({key: "ArrowLeft", label: gettext("Previous image"), run: turn(-1)});
    shortcuts.push({
      key: "Backspace", label: gettext("Back to the last rated image"), run: () => trail.length && show(trail.pop()),
    });
  }
  shortcuts.push({key: "z", label: gettext("Zoom"), run: () => zoom.toggle()});
  shortcuts.push({key: "Enter", label: gettext("Continue"), run: () => isOnControl() || goOn()});
  api.shortcuts([...shortcuts, ...others]);
  show(place);

  return {
    /** Show the right answers of a training item. */
    mark(expected) {
      const wrong = [];
      images.forEach(({id}, number) => {
        if (!(id in expected)) return;
        const isRight = given.get(id) === expected[id].label;
        thumbs[number].classList.add(isRight ? "good" : "bad");
        if (isRight) return;
        const answer = gettext("Correct answer: {answer}", {answer: nameOf(expected[id].label)});
        wrong.push(images.length > 1 ? `${imageName(number)}: ${answer}` : answer);
      });
      part.note.textContent = wrong.length ? wrong.join(" ") : gettext("All correct.");
      part.note.hidden = false;
    },
  };
}
