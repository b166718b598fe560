// Pictures that an answer found, as cards. The page's policy lets no other host in, so that a picture of the web is a
// title, a size and links; only one that came as bytes of its own is seen.

import { hostOf, isWeb } from "./addresses.js";
import { make } from "./dom.js";
import { number, t } from "./i18n.js";

const BYTES = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/=]+$/i;

/** `images` as the gateway lists them; those whose address is neither of the web nor bytes of a picture stay text. */
export const pictureList = (images) =>
  make("section", { "aria-label": t("pictures") }, make("h3", {}, t("pictures"), make("span", { class: "count" }, String(images.length))),
    make("ol", { class: "cards" }, images.map((image) => make("li", {}, pictureCard(image)))));

const pictureCard = ({ image_url: address, origin_url: origin, title, width, height }) =>
  make("figure", { class: "card picture" },
    BYTES.test(address) && make("img", { src: address, alt: "" }),
    make("figcaption", {},
      away(address, "card-title", title || hostOf(address)),
      width && height && make("span", { class: "size" }, t("picture.size", number(width), number(height))),
      origin && away(origin, "card-foot", hostOf(origin))));

/** A link, where it leads to the web. */
const away = (url, name, text) =>
  isWeb(url) ? make("a", { class: name, href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, text) : make("span", { class: name }, text);
