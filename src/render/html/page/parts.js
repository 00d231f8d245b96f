// The parts that only some pages have: sections of script behind that of every page, which add themselves here
// before the page is made. See ../bundle.rs.

/** Each makes its part of the page, and returns what brings it up to date.
 * @type {((app: import("./app.js").App) => () => void)[]} */
export const extras = [];
