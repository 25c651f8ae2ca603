// Pictures of a smoke test: sliders for the difference, before and after, and the path of the attack.
// Without this script, the pictures stand side by side and radio buttons choose the amplification.
"use strict";

const GREY = 128;
const STEP_MILLISECONDS = 350;

function pixels(image) {
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

// as evaluation.charts.sample_pictures.amplified on the server
function draw(canvas, clean, perturbed, factor) {
  if (!clean.naturalWidth || clean.naturalWidth !== perturbed.naturalWidth) return;
  const before = pixels(clean), after = pixels(perturbed);
  for (let at = 0; at < after.data.length; at += 4) {
    for (let channel = at; channel < at + 3; channel += 1) {
      after.data[channel] = GREY + factor * (after.data[channel] - before.data[channel]);
    }
  }
  canvas.width = after.width;
  canvas.height = after.height;
  canvas.getContext("2d").putImageData(after, 0, 0);
}

function differences(section, sample) {
  const clean = sample.querySelector("[data-clean]"), perturbed = sample.querySelector("[data-perturbed]");
  const pictures = [...sample.querySelectorAll("[data-difference]")];
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  pictures[0].before(canvas);
  for (const picture of pictures) picture.remove();
  const slider = section.querySelector("[data-factor-slider]");
  const redraw = () => {
    const factor = Number(slider.querySelector("input").value);
    canvas.setAttribute("aria-label", `Difference, ${factor} times amplified`);
    draw(canvas, clean, perturbed, factor);
  };
  for (const image of [clean, perturbed]) image.addEventListener("load", redraw);
  slider.addEventListener("input", redraw);
  redraw();
}

function comparison(sample) {
  const control = sample.querySelector("[data-compare]");
  const over = sample.querySelector("[data-perturbed]");
  const under = sample.querySelector("[data-clean]").cloneNode();
  under.removeAttribute("data-clean");
  under.alt = "";
  under.className = "under";
  over.before(under);
  const cut = () => { over.style.clipPath = `inset(0 ${100 - control.querySelector("input").value}% 0 0)`; };
  control.hidden = false;
  control.addEventListener("input", cut);
  cut();
}

function replay(sample) {
  const control = sample.querySelector("[data-replay]");
  if (!control) return;
  const steps = [...sample.querySelectorAll("[data-step]")];
  const [button, slider, output] = control.children;
  const image = sample.querySelector("[data-perturbed]"), label = sample.querySelector("[data-label] b");
  const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  dot.setAttribute("class", "path-dot");
  dot.setAttribute("r", "6");
  sample.querySelector(".small-chart svg").append(dot);
  const show = () => {
    const step = steps[slider.value].dataset;
    if (image.getAttribute("src") !== step.step) image.src = step.step;
    if (label) label.textContent = step.name;
    output.textContent = step.text;
    dot.setAttribute("cx", step.x);
    dot.setAttribute("cy", step.y);
  };
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = "Replay"; };
  slider.addEventListener("input", () => { stop(); show(); });
  button.addEventListener("click", () => {
    if (timer) { stop(); return; }
    for (const step of steps) new Image().src = step.dataset.step;
    slider.value = 0;
    button.textContent = "Stop";
    show();
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (slider.value === slider.max) stop();
    }, STEP_MILLISECONDS);
  });
  control.hidden = false;
  const step = steps[steps.length - 1].dataset;
  output.textContent = step.text;
  dot.setAttribute("cx", step.x);
  dot.setAttribute("cy", step.y);
}

for (const section of document.querySelectorAll("[data-pictures]")) {
  const slider = section.querySelector("[data-factor-slider]");
  if (!slider) continue;
  section.querySelector("[data-factors]").hidden = true;
  slider.hidden = false;
  slider.addEventListener("input", () => {
    slider.querySelector("output").textContent = slider.querySelector("input").value;
  });
  for (const sample of section.querySelectorAll("[data-sample]")) {
    if (!sample.querySelector("[data-perturbed]")) continue;
    differences(section, sample);
    comparison(sample);
    replay(sample);
  }
}
