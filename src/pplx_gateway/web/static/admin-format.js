// Numbers and times for people, in the page's language.

import { language, number, t } from "./i18n.js";

const LOCALE = language === "zh" ? "zh-CN" : "en-GB";
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** `seconds` in the past (or, below zero, ahead), in the largest unit that fits; null = not known. */
export const ago = (seconds) => {
  if (seconds === null || seconds === undefined) return t("unknown");
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto" }).format(-Math.round(seconds / size), unit);
};

/** Seconds since the epoch, as so long ago. */
export const since = (moment) => (moment === null ? t("never") : ago(Date.now() / 1000 - moment));

export const hours = (value) => (value === null ? t("unknown") : value < 48 ? t("hours", number(value, 1)) : t("days", number(value / 24, 1)));

/** Large counts, short: 12.3k. */
export const short = (value) => value.toLocaleString(LOCALE, { notation: value >= 10_000 ? "compact" : "standard", maximumFractionDigits: 1 });

/** An ISO time, in the browser's own time zone. */
export const moment = (iso) => new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "medium" }).format(new Date(iso));

/** The same, short: of today the time alone. */
export const briefly = (iso) => {
  const date = new Date(iso);
  const style = date.toDateString() === new Date().toDateString() ? { timeStyle: "medium" } : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(LOCALE, style).format(date);
};

/** Dollars of an axis or a limit, with no more digits than they need. */
export const axisDollars = (value) => `$${Number(value.toPrecision(6))}`;

/** A day of UTC, short. */
export const dayOf = (date) => new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", timeZone: "UTC" }).format(date);

export const hourOf = (date) => new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", timeZone: "UTC" }).format(date);

/** "a, b" or lines, as a list. */
export const listed = (text) => text.split(/[,\n]/).map((word) => word.trim()).filter(Boolean);
