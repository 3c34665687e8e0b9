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
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let place = 0; place < bytes.length; place++) bytes[place] = letters.charCodeAt(place);
    return new Float32Array(bytes.buffer);
  };

  // A dot for each sample, as pixels of one picture: a path of so many circles, as uPlot draws them, takes a
  // browser longer than all else. Colours are those of the style sheet: #rrggbb.
  const dots = (colours) => (plot) => {
    const [left, top, width, height] = ["left", "top", "width", "height"].map((side) => Math.round(plot.bbox[side]));
    const { x, y } = plot.scales;
    const radius = 1.5 * devicePixelRatio;
    // What is on the edge of the plot needs no other care with this around it.
    const edge = Math.ceil(radius);
    const picture = new ImageData(width + 2 * edge, height + 2 * edge);
    const pixels = new Uint32Array(picture.data.buffer);
    const disc = [];
    for (let up = -edge; up <= edge; up++) {
      for (let right = -edge; right <= edge; right++) {
        if (up * up + right * right <= radius * radius) disc.push(up * picture.width + right);
      }
    }
    const scaled = y.distr === 3 ? Math.log : (value) => value;
    const low = scaled(y.min);
    const across = (width - 1) / (x.max - x.min);
    const upwards = (height - 1) / (scaled(y.max) - low);
    for (let series = 1; series < plot.data.length; series++) {
      if (!plot.series[series].show) continue;
      const values = plot.data[series];
      const [red, green, blue] = colours[series - 1].match(/[0-9a-f]{2}/gi).map((digits) => parseInt(digits, 16));
      const colour = (255 << 24) | (blue << 16) | (green << 8) | red;
      for (let place = 0; place < values.length; place++) {
        const right = Math.round((plot.data[0][place] - x.min) * across);
        const down = height - 1 - Math.round((scaled(values[place]) - low) * upwards);
        if (!(right >= 0 && right < width && down >= 0 && down < height)) continue;
        const centre = (down + edge) * picture.width + right + edge;
        for (const offset of disc) pixels[centre + offset] = colour;
      }
    }
    const layer = new OffscreenCanvas(picture.width, picture.height);
    layer.getContext("2d").putImageData(picture, 0, 0);
    plot.ctx.drawImage(layer, left - edge, top - edge);
  };

  function draw(part) {
    const place = part.querySelector(".plot");
    const unit = part.dataset.unit;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name);
    const named = [...part.querySelectorAll("data")];
    const colours = named.map((_, number) => colour(`--c${number % 6}`));
    const all = named.map((data) => decoded(data.value));
    const count = Math.max(...all.map((values) => values.length));
    let [least, most] = [Infinity, -Infinity];
    for (const values of all) {
      for (let place = 0; place < values.length; place++) {
        least = Math.min(least, values[place]);
        most = Math.max(most, values[place]);
      }
    }
    const rule = { stroke: colour("--rule"), width: 1 };
    const axis = { stroke: colour("--ink"), grid: rule, ticks: rule };
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
        ...named.map((data, number) => ({
          label: data.textContent,
          stroke: colours[number],
          paths: () => null,
          points: { show: false, size: 3, width: 0, fill: colours[number] },
          value: (_, value) => shown(unit)(value),
        })),
      ],
      hooks: { draw: [dots(colours)] },
    };
    // One that has fewer samples has none at the last places: what uPlot reads there is undefined.
    const plot = new uPlot(options, [Float64Array.from({ length: count }, (_, place) => place + 1), ...all], place);
    new ResizeObserver(() => {
      // It tells of the first size as well.
      if (place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height: 320 });
    }).observe(place);
  }

  for (const part of document.querySelectorAll("details.samples")) {
    part.addEventListener("toggle", () => draw(part), { once: true });
  }
})();
