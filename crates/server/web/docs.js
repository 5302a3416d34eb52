// Draws /openapi.json: operations by tag, schemas, and the table of error codes.

const METHODS = ["get", "post", "put", "patch", "delete"];

/** An element with attributes and children; text is always text, never markup. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

/** Text in which `code` stands between backticks; codes of errors lead to their row. */
function prose(text = "", codes = new Set()) {
  return text.split("`").map((part, index) => {
    if (index % 2 === 0) return part;
    const code = make("code", {}, part);
    return codes.has(part) ? make("a", { href: `#${part}` }, code) : code;
  });
}

function paragraphs(text, codes) {
  return (text ?? "").split(/\n\n+/).filter(Boolean).map((part) => make("p", {}, prose(part, codes)));
}

class Page {
  constructor(api) {
    this.api = api;
    this.codes = new Set((api["x-error-codes"] ?? []).map((row) => row.code));
  }

  /** What a reference stands for. */
  follow(value) {
    let found = value;
    while (found?.$ref) {
      const names = found.$ref.slice(2).split("/");
      found = names.reduce((at, name) => at?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], this.api);
    }
    return found ?? {};
  }

  /** A schema in a few words; named ones are links. */
  words(schema) {
    if (!schema) return ["anything"];
    if (schema.$ref) {
      const name = schema.$ref.split("/").pop();
      return [make("a", { href: `#schema-${name}` }, name)];
    }
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices) {
      return choices.flatMap((choice, index) => [index > 0 ? " or " : "", ...this.words(choice)]);
    }
    const types = [schema.type ?? "anything"].flat();
    const words = types.flatMap((type, index) => {
      const joint = index > 0 ? [" or "] : [];
      return type === "array" ? [...joint, "list of ", ...this.words(schema.items)] : [...joint, type];
    });
    if (schema.enum) words.push(": ", schema.enum.join(", "));
    if (schema.format && !schema.format.startsWith("int")) words.push(`, ${schema.format}`);
    if (schema.minimum !== undefined || schema.maximum !== undefined) {
      words.push(`, ${schema.minimum ?? "…"} to ${schema.maximum ?? "…"}`);
    }
    if (schema.minLength !== undefined || schema.maxLength !== undefined) {
      words.push(`, ${schema.minLength ?? 0} to ${schema.maxLength ?? "…"} characters`);
    }
    return words;
  }

  /** A value that fits a schema, for readers. */
  sample(schema, depth = 0) {
    const named = this.follow(schema);
    if (named.example !== undefined) return named.example;
    if (named.examples?.length) return named.examples[0];
    if (named.enum) return named.enum[0];
    const choices = named.oneOf ?? named.anyOf;
    if (choices) return this.sample(choices[0], depth);
    const type = [named.type].flat()[0];
    if (type === "object") {
      const fields = Object.entries(named.properties ?? {});
      if (depth > 5) return {};
      return Object.fromEntries(fields.map(([name, field]) => [name, this.sample(field, depth + 1)]));
    }
    if (type === "array") return depth > 5 ? [] : [this.sample(named.items, depth + 1)];
    if (type === "integer" || type === "number") return named.minimum ?? 0;
    if (type === "boolean") return false;
    if (named.format === "uuid") return "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a";
    if (named.format === "date-time") return "2027-12-01T09:00:00.000Z";
    return type === "string" ? "…" : null;
  }

  /** Named examples of a body. */
  examples(content) {
    if (content.example !== undefined) return [["", content.example]];
    const several = Object.entries(content.examples ?? {});
    if (several.length > 0) {
      return several.map(([name, example]) => [this.follow(example).summary ?? name, this.follow(example).value]);
    }
    return content.schema ? [["", this.sample(content.schema)]] : [];
  }

  curl(path, method, operation) {
    const parameters = (operation.parameters ?? []).map((parameter) => this.follow(parameter));
    let address = path;
    for (const parameter of parameters.filter((one) => one.in === "path")) {
      address = address.replace(`{${parameter.name}}`, encodeURIComponent(parameter.example ?? parameter.name));
    }
    const lines = [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${location.origin}${address}`];
    if (operation.security) lines.push(`-H "Authorization: Bearer $BOXOFFICE_KEY"`);
    if (parameters.some((one) => one.name === "Idempotency-Key")) lines.push(`-H "Idempotency-Key: $(uuidgen)"`);
    const stream = Object.values(operation.responses).some((answer) => this.follow(answer).content?.["text/event-stream"]);
    if (stream) lines.push("--no-buffer");
    const content = operation.requestBody && this.follow(operation.requestBody).content?.["application/json"];
    if (content) {
      const body = JSON.stringify(this.examples(content)[0]?.[1] ?? {});
      lines.push(`-H "Content-Type: application/json"`, `-d '${body.replaceAll("'", "'\\''")}'`);
    }
    return lines.join(" \\\n  ");
  }

  copyable(text, label) {
    const button = make("button", { type: "button", "aria-label": `Copy ${label}` }, "Copy");
    button.addEventListener("click", async () => {
      const said = document.getElementById("said");
      try {
        await navigator.clipboard.writeText(text);
        said.textContent = "Copied";
      } catch {
        said.textContent = "The browser does not allow copying here";
      }
      setTimeout(() => { said.textContent = ""; }, 1500);
    });
    return make("div", { class: "copied" }, make("pre", { tabindex: "0" }, make("code", {}, text)), button);
  }

  table(headings, rows) {
    const head = make("tr", {}, headings.map((heading) => make("th", { scope: "col" }, heading)));
    return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, rows)));
  }

  parameters(operation) {
    const parameters = (operation.parameters ?? []).map((parameter) => this.follow(parameter));
    if (parameters.length === 0) return [];
    const rows = parameters.map((parameter) => make("tr", {},
      make("td", {}, make("code", {}, parameter.name)),
      make("td", {}, parameter.in + (parameter.required ? ", required" : "")),
      make("td", {}, this.words(parameter.schema)),
      make("td", {}, prose(parameter.description, this.codes))));
    return [make("h4", {}, "Parameters"), this.table(["Name", "Where", "Kind", "Meaning"], rows)];
  }

  body(operation) {
    const body = operation.requestBody && this.follow(operation.requestBody);
    if (!body) return [];
    return Object.entries(body.content).flatMap(([kind, content]) => [
      make("h4", {}, "Body"),
      make("p", {}, make("code", {}, kind), ": ", this.words(content.schema), body.required ? "" : " (may be left out)"),
      ...this.examples(content).map(([name, value]) => make("div", {},
        name && make("p", {}, `${name}:`), this.copyable(JSON.stringify(value, null, 2), "the example"))),
    ]);
  }

  answers(operation) {
    const rows = Object.entries(operation.responses).map(([status, response]) => {
      const answer = this.follow(response);
      const kinds = Object.entries(answer.content ?? {}).flatMap(([kind, content]) => [
        make("div", {}, make("code", {}, kind), ": ", this.words(content.schema)),
        status.startsWith("2") && kind === "application/json"
          ? make("details", {}, make("summary", {}, "Example"),
            this.copyable(JSON.stringify(this.examples(content)[0]?.[1], null, 2), "the example"))
          : content.example && make("details", {}, make("summary", {}, "Example"),
            this.copyable(JSON.stringify(content.example, null, 2), "the example")),
      ]);
      const headers = Object.entries(answer.headers ?? {}).map(([name, header]) =>
        make("div", {}, make("code", {}, name), ": ", prose(this.follow(header).description, this.codes)));
      return make("tr", {}, make("td", {}, make("code", {}, status)),
        make("td", {}, prose(answer.description, this.codes), headers), make("td", {}, kinds));
    });
    return [make("h4", {}, "Answers"), this.table(["Status", "When", "Body"], rows)];
  }

  operation(path, method, operation) {
    const id = `operation-${operation.operationId}`;
    const curl = this.curl(path, method, operation);
    return make("details", { class: "operation", id, "data-words": `${method} ${path} ${operation.summary} ${operation.operationId}`.toLowerCase() },
      make("summary", {}, make("span", { class: `method ${method}` }, method.toUpperCase()), make("code", {}, path),
        make("span", { class: "what" }, prose(operation.summary, this.codes))),
      make("div", {}, paragraphs(operation.description, this.codes), this.parameters(operation), this.body(operation),
        make("h4", {}, "Try it"), this.copyable(curl, "the curl line"), this.answers(operation)));
  }

  operations(tag) {
    return Object.entries(this.api.paths).flatMap(([path, item]) => METHODS
      .filter((method) => item[method]?.tags?.includes(tag))
      .map((method) => ({ path, method, operation: item[method] })));
  }

  errors() {
    const rows = (this.api["x-error-codes"] ?? []).map((row) => make("tr", { id: row.code },
      make("td", {}, make("a", { href: `#${row.code}` }, make("code", {}, row.code))),
      make("td", {}, String(row.status)), make("td", {}, prose(row.meaning))));
    return [make("h2", { id: "errors" }, "Error codes"), this.table(["Code", "Status", "Meaning"], rows)];
  }

  schemas() {
    return [make("h2", { id: "schemas" }, "Schemas"), ...Object.entries(this.api.components.schemas).map(([name, schema]) => {
      const fields = Object.entries(schema.properties ?? {}).map(([field, of]) => make("tr", {},
        make("td", {}, make("code", {}, field), schema.required?.includes(field) ? " *" : ""),
        make("td", {}, this.words(of)), make("td", {}, prose(of.description, this.codes))));
      return make("details", { class: "operation", id: `schema-${name}`, "data-words": name.toLowerCase() },
        make("summary", {}, make("h3", {}, name)),
        make("div", {}, paragraphs(schema.description, this.codes),
          fields.length > 0 ? this.table(["Field (* required)", "Kind", "Meaning"], fields) : make("p", {}, this.words(schema))));
    })];
  }

  draw() {
    document.getElementById("about").replaceChildren(...prose(this.api.info.description.replaceAll(/\s+/g, " "), this.codes));
    const contents = document.getElementById("contents");
    const main = document.getElementById("content");
    main.replaceChildren();
    for (const tag of this.api.tags) {
      const all = this.operations(tag.name);
      contents.append(make("strong", {}, tag.name), make("ul", {}, all.map(({ path, method, operation }) =>
        make("li", { "data-words": `${method} ${path}` }, make("a", { href: `#operation-${operation.operationId}` },
          make("span", { class: `method ${method}` }, method.toUpperCase()), " ", path.replace("/v1", ""))))));
      main.append(make("h2", { id: `tag-${tag.name}` }, tag.name), make("p", {}, prose(tag.description, this.codes)),
        ...all.map(({ path, method, operation }) => this.operation(path, method, operation)));
    }
    main.append(...this.errors(), ...this.schemas());
  }
}

/** Opens and shows what the address names: it was not there yet when the browser looked for it. */
function show() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
}

function filter(text) {
  const wanted = text.trim().toLowerCase().split(/\s+/);
  for (const element of document.querySelectorAll("main [data-words]")) {
    element.hidden = !wanted.every((word) => element.dataset.words.includes(word));
  }
}

async function start() {
  try {
    const answer = await fetch("/openapi.json");
    new Page(await answer.json()).draw();
  } catch (error) {
    document.getElementById("content").textContent = `The document could not be read: ${error.message}`;
    return;
  }
  document.getElementById("filter").addEventListener("input", (event) => filter(event.target.value));
  addEventListener("hashchange", show);
  // A second click on the same link shows its target again.
  addEventListener("click", (event) => {
    if (event.target.closest?.("a[href^='#']")) setTimeout(show);
  });
  // The hash must be set again for `:target`, which was matched before the page was drawn.
  if (location.hash) {
    const hash = location.hash;
    history.replaceState(null, "", "#");
    location.hash = hash;
    show();
  }
}

start();
