"use strict";

// Draw the OpenAPI document. Requests from the page read only: a browser's session needs a token of a form to write.
// Swagger UI has dark colours for pages of this class
const dark = matchMedia("(prefers-color-scheme: dark)");
function colour() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}
dark.addEventListener("change", colour);
colour();

const place = document.getElementById("api-document");
SwaggerUIBundle({
  url: place.dataset.openapi,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  supportedSubmitMethods: ["get"],
  validatorUrl: null,
});
