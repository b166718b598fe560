// What an address of somebody else's is good for: only those of the web become links.

export const isWeb = (url) => /^https?:\/\//i.test(url);

/** What stands for an address where there is little room. */
export const hostOf = (url) => (URL.canParse(url) && isWeb(url) ? new URL(url).host.replace(/^www\./, "") : url.slice(0, 80));
