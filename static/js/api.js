"use strict";

// Draw the OpenAPI document. Requests from the page read only: a browser's session needs a token of a form to write.
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
