// Draws the samples of a part when it is opened, with uPlot. No word of the page becomes markup here.
(() => {
  const UNITS = {
    time: [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]],
    bytes: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
    share: [[0.01, "%"]],
    ratio: [[1, "x"]],
    number: [[1, ""]],
  };
  const shown = (unit) => (value) => {
    if (value == null) return "";
    const [size, name] = UNITS[unit].find(([size]) => Math.abs(value) >= size) ?? UNITS[unit].at(-1);
    return `${Number((value / size).toPrecision(4))} ${name}`.trim();
  };
  const decoded = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return Array.from(new Float32Array(bytes.buffer));
  };

  function draw(part) {
    const place = part.querySelector(".plot");
    const unit = part.dataset.unit;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name);
    const all = [...part.querySelectorAll("data")].map((data) => ({
      label: data.textContent,
      values: decoded(data.value),
    }));
    const count = Math.max(...all.map(({ values }) => values.length));
    const least = all.reduce((least, { values }) => values.reduce((a, b) => Math.min(a, b), least), Infinity);
    const most = all.reduce((most, { values }) => values.reduce((a, b) => Math.max(a, b), most), -Infinity);
    const padded = ({ values }) => values.concat(Array(count - values.length).fill(null));
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--rule") }, ticks: { stroke: colour("--rule") } };
    const options = {
      width: place.clientWidth,
      height: 320,
      scales: { x: { time: false }, y: { distr: least > 0 && most >= 10 * least ? 3 : 1 } },
      axes: [
        { ...axis, label: "number of the sample" },
        { ...axis, size: 80, values: (_, places) => places.map(shown(unit)) },
      ],
      series: [
        { label: "sample" },
        ...all.map(({ label }, number) => ({
          label,
          stroke: colour(`--c${number % 6}`),
          paths: () => null,
          points: { show: true, size: 3, width: 0, fill: colour(`--c${number % 6}`) },
          value: (_, value) => shown(unit)(value),
        })),
      ],
    };
    const data = [Array.from({ length: count }, (_, place) => place + 1), ...all.map(padded)];
    const plot = new uPlot(options, data, place);
    new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 320 })).observe(place);
  }

  for (const part of document.querySelectorAll("details.samples")) {
    part.addEventListener("toggle", () => draw(part), { once: true });
  }
})();
