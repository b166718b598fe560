// What goes along with a question: images and files that are dropped, pasted or picked. Images go inside the request as
// data URLs, or are uploaded to /v1/files as other files are. What was uploaded is deleted when it is taken away, when
// the conversation ends, and by the gateway itself after a day.

import { find, make } from "./dom.js";
import { call } from "./gateway.js";
import { t } from "./i18n.js";

const LIFE_SECONDS = 24 * 3600;

/** Gives {take, ready, busy, clear}. `trouble` is told sentences; `imagesBy()` is "data" or "file". */
export const attachments = ({ imagesBy, trouble }) => {
  const list = find("#attached");
  const picker = find("#picker");
  let attached = [];
  const uploaded = new Set();

  const draw = () => list.replaceChildren(...attached.map((one) => chip(one, () => remove(one))));

  const remove = (one) => {
    attached = attached.filter((other) => other !== one);
    one.removed = true;
    if (one.fileId) forget(one.fileId);
    draw();
    find("#question").focus();
  };

  const forget = (fileId) => {
    uploaded.delete(fileId);
    call(`/v1/files/${encodeURIComponent(fileId)}`, { method: "DELETE" }).catch((error) => trouble(error.message));
  };

  const add = async (file) => {
    const kind = file.type.startsWith("image/") ? "image" : "file";
    const one = { kind, name: file.name || t("pasted"), bytes: file.size, ready: false };
    attached.push(one);
    draw();
    try {
      if (kind === "image") one.preview = await dataUrl(file);
      if (kind === "image" && imagesBy() === "data") one.dataUrl = one.preview;
      else await upload(one, file);
      one.ready = true;
    } catch (error) {
      attached = attached.filter((other) => other !== one);
      trouble(`${one.name}: ${error.message}`);
    }
    draw();
  };

  const upload = async (one, file) => {
    const form = new FormData();
    form.set("purpose", "user_data");
    form.set("expires_after[anchor]", "created_at");
    form.set("expires_after[seconds]", String(LIFE_SECONDS));
    form.set("file", file, one.name);
    const { id } = await call("/v1/files", { method: "POST", form });
    uploaded.add(id);
    one.fileId = id;
    if (one.removed) forget(id);
  };

  const addAll = (files) => [...files].forEach(add);
  find("#attach").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    addAll(picker.files);
    picker.value = "";
  });
  document.addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    addAll(event.clipboardData.files);
  });
  drops(addAll);

  return {
    busy: () => attached.some((one) => !one.ready),
    /** Gives what is attached, and lets go of it. */
    take: () => {
      const taken = attached;
      attached = [];
      draw();
      return taken;
    },
    /** Ends the conversation: nothing that was uploaded for it is kept. */
    clear: () => {
      attached = [];
      draw();
      for (const fileId of [...uploaded]) forget(fileId);
    },
  };
};

const drops = (addAll) => {
  const zone = find("#talk");
  let depth = 0;
  const over = (event) => event.dataTransfer?.types.includes("Files");
  zone.addEventListener("dragenter", (event) => over(event) && (depth += 1) && zone.setAttribute("data-drop", t("drop")));
  zone.addEventListener("dragleave", (event) => over(event) && (depth -= 1) <= 0 && zone.removeAttribute("data-drop"));
  zone.addEventListener("dragover", (event) => over(event) && event.preventDefault());
  zone.addEventListener("drop", (event) => {
    depth = 0;
    zone.removeAttribute("data-drop");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    addAll(event.dataTransfer.files);
  });
};

const dataUrl = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

export const size = (bytes) => (bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`);

/** As it stands before a question, and in it. */
export const picture = (one) =>
  one.preview ? make("img", { src: one.preview, alt: one.name, width: 40, height: 40 }) : make("span", { class: "sheet", "aria-hidden": "true" }, one.name.split(".").pop().slice(0, 4));

const chip = (one, remove) =>
  make("li", { class: one.ready ? "" : "waiting", "aria-busy": String(!one.ready) }, picture(one),
    make("span", { class: "file-name" }, one.name), make("span", { class: "note" }, size(one.bytes)),
    make("button", { type: "button", class: "quiet icon", "aria-label": t("remove", one.name), title: t("remove", one.name), click: remove }, "×"));
