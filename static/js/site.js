// Everything here is a convenience: the pages work without it.
"use strict";

// a page that nobody looks at asks for nothing
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.closest("[data-live]")) event.preventDefault();
});

// a log that was read to its end stays at its end
let atTheEnd = false;
document.addEventListener("htmx:beforeSwap", (event) => {
  const log = event.target.closest(".log");
  if (log) atTheEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
});
document.addEventListener("htmx:afterSettle", (event) => {
  const log = event.target.closest(".log");
  if (log && atTheEnd) log.scrollTop = log.scrollHeight;
});

for (const log of document.querySelectorAll(".log[data-live]")) {
  if (!location.hash) log.scrollTop = log.scrollHeight;
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const said = button.textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = said; }, 1500);
  });
}
