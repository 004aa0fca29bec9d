/* How a component is drawn by Streamlit: once for each change of its data, each drawing with a function that ends it. */

/** `draw` whose drawings end only as long as they are the newest in their place.

    Streamlit ends a drawing that was overtaken while its module loaded; by then the next may have been drawn, which
    lives in the same element and shares its state. */
export function lasting(draw) {
  const newest = new WeakMap();
  return (given) => {
    const place = given.parentElement.querySelector(".root");
    const end = draw(given);
    newest.set(place, end);
    return () => newest.get(place) === end && end?.();
  };
}
