// The page is whole without this: it only tells under a drawing what one points at, and sorts.
for (const drawing of document.querySelectorAll(".drawing:has(.told)")) {
  const told = drawing.querySelector(".told");
  told.hidden = false;
  told.textContent = "Point at a plan, or choose it.";
  for (const link of drawing.querySelectorAll("svg a")) {
    const tell = () => { told.textContent = link.getAttribute("aria-label"); };
    link.addEventListener("pointerenter", tell);
    link.addEventListener("focus", tell);
    link.addEventListener("click", (event) => { event.preventDefault(); choose(drawing, link); });
  }
}

function choose(drawing, link) {
  const row = document.querySelector(link.getAttribute("href"));
  for (const other of [...drawing.querySelectorAll("svg a"), ...row.parentElement.rows]) {
    other.classList.toggle("chosen", other === link || other === row);
  }
}

for (const heading of document.querySelectorAll(".sortable th")) {
  const button = document.createElement("button");
  button.append(...heading.childNodes);
  heading.append(button);
  button.addEventListener("click", () => sort(heading));
}

function sort(heading) {
  const downwards = heading.ariaSort === "ascending";
  for (const other of heading.parentElement.cells) other.ariaSort = null;
  heading.ariaSort = downwards ? "descending" : "ascending";
  const body = heading.closest("table").tBodies[0];
  const sign = downwards ? -1 : 1;
  body.append(...[...body.rows].sort((a, b) => sign * compare(a, b, heading.cellIndex)));
}

function compare(one, other, column) {
  const [a, b] = [one, other].map((row) => row.cells[column]);
  const [x, y] = [number(a), number(b)];
  return isNaN(x) || isNaN(y) ? a.textContent.localeCompare(b.textContent) : x - y;
}

// A key that is there and empty is of what has no value: it comes last.
function number(cell) {
  const key = cell.dataset.key;
  return key === undefined ? parseFloat(cell.textContent.replaceAll(",", "")) : Number(key || Infinity);
}

// Times of a Gantt chart can be stretched; the names of its jobs stay where they are.
for (const chart of document.querySelectorAll(".gantt")) {
  const label = document.createElement("label");
  const zoom = Object.assign(document.createElement("input"), { type: "range", min: 1, max: 30, step: 0.5, value: 1 });
  label.append("Zoom ", zoom);
  chart.prepend(label);
  const seen = chart.querySelector(".zoom");
  zoom.addEventListener("input", () => {
    const left = seen.scrollLeft / seen.scrollWidth;
    chart.style.setProperty("--zoom", zoom.value);
    chart.classList.toggle("close", zoom.value >= 8);
    seen.scrollLeft = left * seen.scrollWidth;
  });
}
