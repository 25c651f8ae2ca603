// Progressive enhancement: all pages work without this script.
"use strict";

// hidden pages do not poll
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.closest("[data-live]")) event.preventDefault();
});

// a log that is scrolled to its end stays there
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

for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const row = tab.closest(".tabs");
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.clientWidth) / 2;
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const label = button.textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}

// show times in the time zone of the device, rounded up to the minute as on the server; the server sends UTC
const local = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});
function localise(part) {
  for (const time of part.querySelectorAll("time[data-local]")) {
    time.textContent = local.format(Math.ceil(new Date(time.dateTime) / 60000) * 60000);
  }
}

// as core.time_format.until on the server: rounded up to the last unit shown, such as "in 2 d 3 h"
function until(seconds) {
  const minutes = Math.ceil(seconds / 60), hours = Math.ceil(minutes / 60);
  if (minutes <= 0) return "now";
  if (minutes < 60) return `in ${minutes} min`;
  if (minutes < 24 * 60) return `in ${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `in ${Math.floor(hours / 24)} d ${hours % 24} h`;
}
function count() {
  for (const span of document.querySelectorAll("[data-until]")) {
    const text = until((new Date(span.dataset.until) - Date.now()) / 1000);
    if (span.textContent !== text) span.textContent = text;
  }
}


// as core.time_format.ago on the server: 3 h ago; older times are dates and stay
function ago(seconds) {
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (minutes < 1) return "just now";
  if (hours < 1) return `${minutes} min ago`;
  if (days < 1) return `${hours} h ago`;
  return days <= 30 ? `${days} ${days > 1 ? "days" : "day"} ago` : "";
}
function age() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const text = ago((Date.now() - new Date(time.dateTime)) / 1000);
    if (text && time.textContent !== text) time.textContent = text;
  }
}

function refresh() { count(); age(); }
localise(document);
refresh();
setInterval(refresh, 5000);
document.addEventListener("htmx:afterSettle", () => { localise(document); refresh(); });

// choose the time zone of the device
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const button of document.querySelectorAll("[data-zone]")) {
  const list = document.getElementById(button.dataset.zone);
  button.hidden = ![...list.options].some((option) => option.value === zone);
  button.addEventListener("click", () => { list.value = zone; });
}

// a second click on the button of a form sends nothing: some forms make something with each answer, such as a token
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => { delete form.dataset.sent; }, 5000);
});

// an open menu closes on Escape and on a click outside
const menu = document.querySelector(".fold");
if (menu) {
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
