// Arithmetic without eval, which the page's policy would not let run anyway: a parser by recursive descent.

const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)|([-+*/%^()]))/iy;

/** The value of `expression`: + - * / % ^ and brackets over decimal numbers. Throws Error. */
export const calculate = (expression) => {
  const tokens = split(String(expression).trim());
  let at = 0;
  const next = (...wanted) => (wanted.includes(tokens[at]) ? tokens[at++] : null);

  const sum = () => {
    let value = product();
    for (let sign = next("+", "-"); sign; sign = next("+", "-")) value = sign === "+" ? value + product() : value - product();
    return value;
  };
  const product = () => {
    let value = signed();
    for (let sign = next("*", "/", "%"); sign; sign = next("*", "/", "%")) {
      const right = signed();
      if (sign !== "*" && right === 0) throw new Error("Division by zero");
      value = sign === "*" ? value * right : sign === "/" ? value / right : value % right;
    }
    return value;
  };
  const signed = () => {
    const sign = next("-", "+");
    if (sign) return sign === "-" ? -signed() : signed();
    return power();
  };
  const power = () => {
    const base = atom();
    return next("^") ? base ** signed() : base;
  };
  const atom = () => {
    if (next("(")) {
      const value = sum();
      if (!next(")")) throw new Error("A closing bracket is missing");
      return value;
    }
    const token = tokens[at];
    if (typeof token !== "number") throw new Error(`A number is missing ${token ? `before ${token}` : "at the end"}`);
    at += 1;
    return token;
  };

  const value = sum();
  if (at < tokens.length) throw new Error(`${tokens[at]} is out of place`);
  if (!Number.isFinite(value)) throw new Error("The result is too large");
  return value;
};

const split = (text) => {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) throw new Error(`This cannot be read: ${text.slice(from).trim().slice(0, 20)}`);
    tokens.push(found[1] ? Number(found[1]) : found[2]);
  }
  return tokens;
};
