// Calls of Turnfold's admin routes.
//
// Lives here: asking, and errors as sentences. Does not belong here: what is shown.

export class SignedOut extends Error {}

async function call(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Error("Turnfold does not answer. Is it running?");
  }
  const value = await answer.json().catch(() => null);
  if (answer.ok) return value;
  const problem = value?.error?.message ?? `Turnfold answered ${answer.status}.`;
  throw answer.status === 401 && !path.startsWith("session") ? new SignedOut(problem) : new Error(problem);
}

const query = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));

export const get = (path, values = {}) => call(`${path}?${query(values)}`);
export const post = (path, body, values = {}) => call(`${path}?${query(values)}`, { method: "POST", body, headers: { "content-type": "application/json" } });
export const session = () => call("session");
export const signIn = (fields) => call("session", { method: "POST", body: JSON.stringify(fields), headers: { "content-type": "application/json" } });
export const signOut = () => call("session", { method: "DELETE" });
