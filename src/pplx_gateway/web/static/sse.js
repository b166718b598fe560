// Server-sent events as they stand on the wire, one by one, with nothing thrown away.

/** Feed it text as it comes; each event is {name, data, comment, raw}. `rest` is what no blank line has ended yet. */
export class EventReader {
  #rest = "";

  feed(text) {
    this.#rest += text;
    const events = [];
    for (let end = boundary(this.#rest); end; end = boundary(this.#rest)) {
      const raw = this.#rest.slice(0, end.from);
      this.#rest = this.#rest.slice(end.to);
      if (raw) events.push(read(raw));
    }
    return events;
  }

  get rest() {
    return this.#rest;
  }
}

const boundary = (text) => {
  const found = /\r\n\r\n|\n\n|\r\r(?!\n)/.exec(text);
  return found && { from: found.index, to: found.index + found[0].length };
};

const read = (raw) => {
  const event = { name: null, data: null, comment: null, raw };
  for (const line of raw.split(/\r\n|\n|\r/)) {
    if (line.startsWith(":")) event.comment = line.slice(1).trim();
    else {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (field === "event") event.name = value;
      if (field === "data") event.data = event.data === null ? value : `${event.data}\n${value}`;
    }
  }
  return event;
};
