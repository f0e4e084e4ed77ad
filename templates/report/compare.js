"use strict";
(() => {
  const body = document.querySelector("#table tbody");
  const rows = Array.from(body.rows);
  let last = -1;
  let sign = 1;

  const key = (row, at) => {
    const cell = row.cells[at];
    if (!("value" in cell.dataset)) return cell.textContent.toLowerCase();
    const text = cell.dataset.value.replace("inf", "Infinity");
    return text === "nan" ? -Infinity : Number(text);
  };

  document.querySelectorAll("#table thead button").forEach((button, at) => {
    button.addEventListener("click", () => {
      sign = at === last ? -sign : 1;
      last = at;
      rows.sort((a, b) => {
        const [x, y] = [key(a, at), key(b, at)];
        return x < y ? -sign : x > y ? sign : 0;
      });
      body.append(...rows);
    });
  });
})();
