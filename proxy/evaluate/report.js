
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const names = Object.keys(data.metrics);
  const checks = ["grounding", "relevance"];
  const page = 100, bins = 20;
  const find = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  // Cut off, not rounded: 2.997 fails where 3 passes.
  const brief = (score) => String(Math.floor(score * 100 + 1e-6) / 100);
  let shown = page;

  const thresholds = () => checks.map((check) => Number(find(check).value));
  const falls = (answer, limits) => answer.some((score, at) => typeof score === "number" && score < limits[at]);
  const failed = (answer) => answer.includes("failed");
  const known = (check) => data.rows.some((row) => row.answers.some((answer) => typeof answer[check] === "number"));

  function spread(limits) {
    const counts = Array.from({ length: bins }, () => [0, 0]);
    for (const row of data.rows) for (const answer of row.answers) {
      if (typeof answer[0] !== "number") continue;
      counts[Math.min(bins - 1, Math.floor(answer[0] * bins))][falls(answer, limits) ? 0 : 1] += 1;
    }
    const most = Math.max(1, ...counts.map(([down, up]) => down + up));
    find("spread").replaceChildren(...counts.map((sides, at) => {
      const bar = make("div");
      bar.title = `${(at / bins).toFixed(2)} to ${((at + 1) / bins).toFixed(2)}: ${sides[0]} blocked, ${sides[1]} not`;
      ["pass", "fail"].forEach((kind, side) => {
        const part = make("div", undefined, kind);
        part.style.flex = "none";
        part.style.height = `${(sides[1 - side] / most) * 100}%`;
        bar.append(part);
      });
      return bar;
    }));
  }

  function decide() {
    const limits = thresholds();
    const answers = data.rows.flatMap((row) => row.answers);
    const down = answers.filter((answer) => falls(answer, limits)).length;
    const lost = answers.filter((answer) => !falls(answer, limits) && failed(answer)).length;
    checks.forEach((check, at) => { find(`${check}-at`).textContent = limits[at].toFixed(2); });
    const share = answers.length ? Math.round((100 * down) / answers.length) : 0;
    find("verdict").textContent = `${down} of ${answers.length} answers would be blocked (${share} %)`
      + (lost ? `; ${lost} could not be scored` : "");
    spread(limits);
    fill();
  }

  function worst(row, name) {
    const [score, result] = row.scores[name];
    if (score === null) return result === "unknown" ? -1e9 : 1e9;
    return data.metrics[name].harm ? -score : score;
  }

  function ordered(limits) {
    const by = find("by").value;
    const rows = by ? [...data.rows].sort((one, other) => worst(one, by) - worst(other, by)) : data.rows;
    return find("only").checked ? rows.filter((row) => row.answers.some((answer) => falls(answer, limits))) : rows;
  }

  const QUESTIONS = ["query", "question"], ANSWERS = ["response", "answer"];
  function said(row, fields, role) {
    const inputs = row.inputs || {};
    const field = fields.find((name) => name in inputs);
    if (field) return inputs[field];
    const talk = inputs.messages || inputs.conversation;
    if (!talk) return "";
    try {
      const parsed = JSON.parse(talk);
      const spoken = (each) => each.role === role && (each.content ?? "") !== "";
      const messages = (Array.isArray(parsed) ? parsed : parsed.messages).filter(spoken);
      if (!messages.length) return "";
      const content = messages[messages.length - 1].content;
      const text = typeof content === "string" ? content : JSON.stringify(content);
      return messages.length > 1 ? `(${messages.length} turns) … ${text}` : text;
    } catch (error) {
      return "(a conversation)";
    }
  }

  function everything(row) {
    const list = make("dl");
    const add = (name, text) => list.append(make("dt", name), make("dd", text));
    for (const [name, text] of Object.entries(row.inputs)) add(name, text);
    for (const name of names) {
      const [score, result, reason] = row.scores[name];
      add(name, `${score === null ? "" : `${brief(score)}, `}${result}${reason ? `: ${reason}` : ""}`);
    }
    if (row.jailbreak) add("jailbreak", row.jailbreak.reason);
    const line = make("tr", undefined, "all"), cell = make("td");
    cell.colSpan = names.length + 4;
    cell.append(list);
    line.append(cell);
    return line;
  }

  function details(row) {
    const box = make("details"), answer = said(row, ANSWERS, "assistant") || "(no answer)";
    let all;
    box.append(make("summary", answer.length > 220 ? `${answer.slice(0, 220)} …` : answer));
    box.addEventListener("toggle", () => {
      if (all) all.remove();
      all = box.open ? everything(row) : undefined;
      if (all) box.closest("tr").after(all);
    });
    return box;
  }

  function badges(row, blocked) {
    const cell = make("td");
    if (blocked) {
      const several = row.answers.length > 1 ? ` ${blocked} of ${row.answers.length}` : "";
      cell.append(make("span", `blocked${several}`, "badge"));
    }
    if (row.jailbreak && row.jailbreak.label) cell.append(" ", make("span", "jailbreak", "badge"));
    return cell;
  }

  function line(row, limits) {
    const made = make("tr"), blocked = row.answers.filter((answer) => falls(answer, limits)).length;
    if (blocked) made.className = "blocked";
    made.append(make("td", row.line, "number"), badges(row, blocked));
    const question = said(row, QUESTIONS, "user");
    made.append(make("td", question.length > 160 ? `${question.slice(0, 160)} …` : question, "text"));
    const text = make("td", undefined, "text");
    text.append(row.inputs ? details(row) : "its texts are in the JSON file");
    made.append(text);
    for (const name of names) {
      const [score, result] = row.scores[name];
      const word = score === null ? (result === "unknown" ? "?" : "–") : brief(score);
      const bad = result === "fail" || result === "unknown";
      made.append(make("td", word, bad ? "number bad" : "number"));
    }
    return made;
  }

  function fill() {
    const limits = thresholds(), rows = ordered(limits);
    document.querySelector("tbody").replaceChildren(...rows.slice(0, shown).map((row) => line(row, limits)));
    find("more").hidden = rows.length <= shown;
  }

  const head = make("tr");
  for (const name of ["line", "", "question", "answer", ...names]) {
    head.append(make("th", name, name === "line" || names.includes(name) ? "number" : ""));
  }
  document.querySelector("thead").append(head);
  for (const name of names) find("by").append(new Option(name, name));
  find("blocking").hidden = !(known(0) || known(1));
  checks.forEach((check, at) => {
    const input = find(check);
    input.value = data.thresholds[check];
    input.disabled = !known(at);
    input.addEventListener("input", decide);
  });
  find("by").addEventListener("change", () => { shown = page; fill(); });
  find("only").addEventListener("change", () => { shown = page; fill(); });
  find("more").addEventListener("click", () => { shown += page; fill(); });
  decide();
})();
