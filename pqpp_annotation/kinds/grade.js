// The page for one choice per image: a large image, the choices, and thumbnails of all images.
import {makeChoiceButton, isOnControl, make, findParts, getPosition, showPrompt, addZoom} from "./parts.js";
import {gettext} from "../texts.js";

/**
 * Run a task whose answer is {label} for each image.
 * choices: [{value, keys, name, help}]; isScale: whether the choices are steps in one row;
 * extraShortcuts: further shortcuts.
 */
export function grade(task, api, choices, {isScale = false, extraShortcuts = []} = {}) {
  const part = findParts(api.root);
  const {images} = task;
  const answers = new Map();
  for (const {id} of images) if (id in task.answers) answers.set(id, task.answers[id].label);
  let index = Math.max(0, images.findIndex(({id}) => !answers.has(id)));

  const trail = []; // indices of the images, in the order in which they were rated

  showPrompt(part.prompt, task.prompt);
  part.question.textContent = task.settings.question;
  part.choices.classList.toggle("scale", isScale);
  part.stage.style.setProperty("--ratio", Math.min(...images.map(({width, height}) => width / height)));
  part.thumbs.hidden = images.length < 2;
  part.thumbs.classList.toggle("many", images.length > 12);
  const zoom = addZoom([part.stage], part.zoom, api);
  const onDouble = event => zoom.toggle(getPosition(part.image, event));
  part.image.addEventListener("dblclick", onDouble, {signal: api.signal});
  const getImageName = number => gettext("Image {number} of {count}", {number: number + 1, count: images.length});
  const getName = value => {
    const choice = choices.find(option => option.value === value);
    return isScale && choice.help ? `${choice.name}, ${choice.help}` : choice.name;
  };

  const buttons = choices.map((choice, number) => {
    const button = makeChoiceButton(choice, number, api, () => choose(choice.value));
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
    const {id} = images[index];
    choices.forEach(({value}, number) => {
      buttons[number].setAttribute("aria-pressed", String(answers.get(id) === value));
    });
    images.forEach((image, number) => {
      const isRated = answers.has(image.id);
      const state = isRated ? getName(answers.get(image.id)) : gettext("not rated yet");
      thumbs[number].setAttribute("aria-label", `${getImageName(number)}, ${state}`);
      thumbs[number].setAttribute("aria-current", String(number === index));
      thumbs[number].lastChild.textContent =
        isRated ? choices.find(option => option.value === answers.get(image.id)).keys[0] : "";
    });
    const left = images.length - answers.size;
    part.next.setAttribute("aria-disabled", String(left > 0));
  }

  function show(number) {
    index = number;
    const {url, width, height} = images[index];
    zoom.off();
    Object.assign(part.image, {src: url, width, height, alt: getImageName(index)});
    showThumb(thumbs[index]);
    new Image().src = images[(index + 1) % images.length].url; // loads the next image
    draw();
    const answer = answers.get(images[index].id);
    if (images.length > 1) {
      api.say(`${getImageName(index)}${answer === undefined ? "" : `, ${getName(answer)}`}`);
    }
  }

  /** Scroll the thumbnails, but not the page. */
  function showThumb(thumb) {
    const [strip, box] = [part.thumbs.getBoundingClientRect(), thumb.getBoundingClientRect()];
    part.thumbs.scrollLeft += box.left - strip.left - (strip.width - box.width) / 2;
    part.thumbs.scrollTop += box.top - strip.top - (strip.height - box.height) / 2;
  }

  function choose(value) {
    const {id} = images[index];
    const before = answers.get(id);
    answers.set(id, value);
    trail.push(index);
    part.error.textContent = "";
    api.save(id, {label: value}).catch(error => {
      // The server rejected it: restore the previous answer.
      if (before === undefined) answers.delete(id);
      else answers.set(id, before);
      part.error.textContent = error.message;
      draw();
    });
    draw();
    const next = findUnrated();
    if (next === null) {
      api.say(`${getName(value)}. ${gettext("All images rated. Press Enter to continue.")}`);
      part.next.focus({preventScroll: true});
    } else if (before === undefined) {
      show(next);
    }
  }

  /** Return the index of the next unrated image, starting over at the end; null if none. */
  function findUnrated() {
    for (let step = 1; step <= images.length; step += 1) {
      const number = (index + step) % images.length;
      if (!answers.has(images[number].id)) return number;
    }
    return null;
  }

  function proceed() {
    const next = findUnrated();
    if (next === null) {
      api.done();
      return;
    }
    show(next);
    api.say(gettext("{left} of {count} images not rated yet", {left: images.length - answers.size, count: images.length}));
  }

  part.next.addEventListener("click", proceed, {signal: api.signal});
  const shortcuts = choices.map(({keys, name, help, value}) => ({
    keys, label: isScale && help ? `${name}: ${help}` : name, run: () => choose(value),
  }));
  if (images.length > 1) {
    const move = step => () => show((index + step + images.length) % images.length);
    shortcuts.push({key: "ArrowRight", label: gettext("Next image"), run: move(1)});
    shortcuts.push({key: "ArrowLeft", label: gettext("Previous image"), run: move(-1)});
    shortcuts.push({
      key: "Backspace", label: gettext("Back to the last rated image"), run: () => trail.length && show(trail.pop()),
    });
  }
  shortcuts.push({key: "z", label: gettext("Zoom"), run: () => zoom.toggle()});
  shortcuts.push({key: "Enter", label: gettext("Continue"), run: () => isOnControl() || proceed()});
  api.shortcuts([...shortcuts, ...extraShortcuts]);
  show(index);

  return {
    /** Show the right answers of a training item. */
    mark(expected) {
      const wrong = [];
      images.forEach(({id}, number) => {
        if (!(id in expected)) return;
        const isRight = answers.get(id) === expected[id].label;
        thumbs[number].classList.add(isRight ? "good" : "bad");
        if (isRight) return;
        const answer = gettext("Correct answer: {answer}", {answer: getName(expected[id].label)});
        wrong.push(images.length > 1 ? `${getImageName(number)}: ${answer}` : answer);
      });
      part.note.textContent = wrong.length ? wrong.join(" ") : gettext("All correct.");
      part.note.hidden = false;
    },
  };
}
