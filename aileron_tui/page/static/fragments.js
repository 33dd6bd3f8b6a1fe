/* HTML that the gate sends, placed without being interpreted further than its own few elements. */

const ELEMENTS = new Set(
  "A B BDI BUTTON DD DETAILS DIV DL DT FIGCAPTION FIGURE H2 H3 LI P RECT SECTION SPAN SUMMARY SVG TIME UL".split(" "),
);
ELEMENTS.delete("A");
const ATTRIBUTES = /^(class|datetime|dir|focusable|height|hidden|preserveaspectratio|role|tabindex|type|viewbox|width|x|y|aria-(hidden|label)|data-[a-z-]+)$/;
const TYPES = new Set([null, "button"]);

const policy = globalThis.trustedTypes?.createPolicy("aileron-fragment", { createHTML: (text) => text });

/** The one element of a fragment. Throws if the fragment has anything that no template of the page makes. */
function fragment(text) {
  const parsed = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  const found = [...parsed.body.children];
  if (found.length !== 1 || parsed.head.children.length) throw new Error("The gate sent something else than one element.");
  for (const element of parsed.body.querySelectorAll("*")) {
    if (!ELEMENTS.has(element.tagName.toUpperCase())) throw new Error(`The gate sent a forbidden element: ${element.tagName}.`);
    for (const { name } of element.attributes) {
      if (!ATTRIBUTES.test(name.toLowerCase())) throw new Error(`The gate sent a forbidden attribute: ${name}.`);
    }
    if (!TYPES.has(element.getAttribute("type"))) throw new Error("The gate sent a forbidden type of button.");
  }
  return document.adoptNode(found[0]);
}

/** Replaces what an element contains, and keeps the focus on the same control if there still is one. */
function place(target, root) {
  const active = target.contains(document.activeElement) ? document.activeElement : null;
  const name = active && ["open", "record", "older"].find((key) => active.dataset[key]);
  const value = name && active.dataset[name];
  target.replaceChildren(root);
  if (value) [...target.querySelectorAll(`[data-${name}]`)].find((one) => one.dataset[name] === value)?.focus({ preventScroll: true });
}
