// Addresses of views, and what is said to screen readers.
//
// Lives here: what every view may use of the page. Does not belong here: any view.

// go("request", ["tf-1"], {at: 3}) -> "#/request/tf-1?at=3"
export function go(name, parts = [], values = {}) {
  const rest = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)).toString();
  return `#/${[name, ...parts.map(encodeURIComponent)].join("/")}${rest ? `?${rest}` : ""}`;
}

export const announce = (text) => { document.getElementById("announcer").textContent = text; };
