"use strict";
// Sorts and filters the table of all drops, and shows the line to copy for a row.
const table = document.querySelector("#drops table");
if (table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const value = (row, column) => {
    const cell = row.cells[column];
    return column ? cell.textContent.trim() : Number(cell.textContent);
  };
  const controls = document.querySelector("#drops .controls");
  const shown = controls.querySelector("output");
  const chosen = {};
  const filter = () => {
    let number = 0;
    for (const row of rows) {
      row.hidden = Object.keys(chosen).some((name) => chosen[name] && row.dataset[name] !== chosen[name]);
      number += !row.hidden;
    }
    shown.textContent = `${number.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  for (const select of controls.querySelectorAll("select")) {
    const counts = new Map();
    for (const row of rows) {
      const name = row.dataset[select.name];
      counts.set(name, (counts.get(name) || 0) + 1);
    }
    for (const [name, number] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500)) {
      select.add(new Option(`${name || "none"} (${number})`, name));
    }
    select.addEventListener("change", () => {
      chosen[select.name] = select.selectedIndex ? select.value : "";
      filter();
    });
  }
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort((a, b) => {
        const [one, two] = [value(a, column), value(b, column)];
        return (one < two ? -1 : one > two ? 1 : 0) * (down ? -1 : 1);
      });
      body.append(...rows);
    });
  });
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const steering = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const log = table.dataset.log;
    const [page, original] = button.closest("tr").querySelectorAll("a");
    const line = button.name === "explain"
      ? `scrapy simhash explain ${quoted(page.getAttribute("href"))} ${log}`
      : `scrapy simhash requeue ${log} --original ${quoted(original.getAttribute("href"))}`;
    if (steering.test(line)) return;
    let place = button.parentElement.querySelector("code");
    if (!place) place = button.parentElement.appendChild(document.createElement("code"));
    place.textContent = line;
    getSelection().selectAllChildren(place);
    if (navigator.clipboard) navigator.clipboard.writeText(line).catch(() => {});
  });
  controls.hidden = false;
  filter();
}
