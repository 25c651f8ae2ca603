#!/usr/bin/env node
// Verifies result bundles in parts with the standard library of Node alone: node tools/verify.mjs [--key HEX] BUNDLE...
// It derives scores, ranks and winners again, of the transfer format (below) and of the query format (verify-query.mjs).
// Intervals, rank intervals and drawn epsilons are only derived by `gauntlet verify`. See docs/bundles.md.
import { createHash, createPublicKey, verify as ed25519 } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { hex, large, must, query, text, whole } from "./verify-query.mjs";

const MOST_LINE = 4_000_000, MOST_PART = 16_000_000, MOST_PARTS = 1000, MOST_LINES = 400_000, MOST_TEXT = 64_000_000, MOST_DEPTH = 12;
const SIZES = { u1: 1, i2: 2, u4: 4, f8: 8, sha256: 32 };
const ARRAYS = { u1: Uint8Array, i2: Int16Array, u4: Uint32Array, f8: Float64Array };
const SUBMISSION = "commit,eligible,licence,team,title,why";
const FIELDS = { // of the given lines, sorted; those with a type are columns
  query: {
    head: "commitment,competition,field_commitment,field_salt,format,guard,round,round_kind,rules,rules_version,samples,schedule,sweep,title",
    sample: "hash,sample,worst_case", audit: "attack,failed_on,model", kept: "model,reason",
    entrant: "bundled,eligible_at_freeze,order,player,prior,submissions,teams,track",
    results: "attack,distances:f8,model,outcomes:u1,piece_digests:sha256,piece_ends:u4,queries:u4,seed",
  },
  transfer: {
    head: "commitment,competition,field_commitment,field_salt,format,round,round_kind,rules,rules_version,samples,seed,title,version",
    batch: "batch,epsilon,hashes:sha256,labels:i2,targets:i2", entrant: "baseline,player,submissions,track",
    attack: "archive,attack,batch,hashes:sha256,made,reason", labels: "attack,defence,labels:i2,reasons",
  },
};
const RULES = "batch_images,batch_seconds,classes,epsilon_order,epsilons,format,name,norm,opponents,result_bytes,shape,version"; // of the transfer format
const ORDER = ["head", "sample", "batch", "entrant", "results", "attack", "labels", "audit", "kept", "derived"];
const TEXTS = { head: ["competition", "title", "round_kind", "field_salt"], entrant: ["player"], submission: ["commit", "licence", "team", "title", "why"] };
const REASONS = ["too_slow", "crashed", "out_of_memory", "too_much_output", "no_result", "result_too_large", "unreadable_result"];
const NOT_DERIVED = ["low", "high", "rank_low", "rank_high", "separated_from_next"];
const sha256 = (content) => createHash("sha256").update(content).digest("hex");
const same = (one, other) => canonical(one) === canonical(other);

function canonical(value) { // RFC 8785
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

const depth = (value) => (value === null || typeof value !== "object" ? 0 : 1 + Object.values(value).reduce((most, each) => Math.max(most, depth(each)), 0));

function parsed(content) {
  const value = JSON.parse(content.toString("utf8")), form = canonical(value);
  must(Buffer.from(form).equals(content) && !/(?<!\\)(\\\\)*\\ud[89a-f]/.test(form), "a line is not in the form of RFC 8785"); // half a pair has none
  must(depth(value) <= MOST_DEPTH, "values are nested too deeply");
  return value;
}

function* bundle(path, key, about) { // the lines, after the signature and the manifest; each part after its hash
  const file = openSync(path, "r");
  const read = (most) => {
    const into = Buffer.alloc(most);
    let size = 0;
    for (let got = 1; got && size < most; size += got) got = readSync(file, into, size, most - size, null);
    return into.subarray(0, size);
  };
  let rest = read(2 * MOST_LINE);
  const line = () => {
    const end = rest.indexOf(10), found = rest.subarray(0, end);
    must(end >= 0, "the file has no signature and manifest in parts");
    rest = rest.subarray(end + 1);
    return found;
  };
  try {
    const signature = parsed(line()), listed = line(), manifest = parsed(listed);
    must(signature.kind === "signature" && signature.lines === undefined, "the bundle is not signed in parts");
    must(Object.keys(signature).sort().join() === "chain,key,key_id,kind,signature", "fields of the signature");
    must(manifest.kind === "parts" && manifest.form === 3 && Object.keys(manifest).length === 3, "another form");
    must(signs(signature.key, Buffer.concat([Buffer.from("gauntlet-bundle-3\n"), listed]), signature.signature), "the signature is not valid");
    must(signature.key_id === sha256(Buffer.from(signature.key, "hex")).slice(0, 16), "the identifier of the key");
    const keys = [...signature.chain.map((step) => step.key), signature.key];
    must(keys.length <= 65, "too many earlier keys");
    signature.chain.forEach((step, at) => {
      const { date, key: from, successor } = step;
      must(Object.keys(step).sort().join() === "date,key,signature,successor" && successor === keys[at + 1] && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(date), "the chain of keys");
      must(signs(from, Buffer.from(`gauntlet-key-1\n${canonical({ date, key: from, successor })}`), step.signature), "the chain of keys");
    });
    must(key === undefined || keys.includes(key), "it was signed by another key");
    about.key = signature.key;
    const { parts } = manifest, snapshot = createHash("sha256").update(listed).update("\n");
    let size_of_lines = 0;
    must(parts.length > 0 && parts.length <= MOST_PARTS && parts.reduce((sum, part) => sum + part.lines, 0) <= MOST_LINES, "the number of parts or lines");
    for (const part of parts) {
      must(whole(part.bytes, 1, MOST_PART) && whole(part.lines, 1, MOST_LINES) && Object.keys(part).length === 3, "the size of a part");
      const content = Buffer.concat([rest.subarray(0, part.bytes), read(Math.max(0, part.bytes - rest.length))]);
      rest = rest.subarray(part.bytes);
      must(sha256(content) === part.sha256, "a part is not the one of the manifest: damaged, missing or out of order");
      snapshot.update(content);
      let at = 0;
      for (let number = 0; number < part.lines; number++) {
        const end = content.indexOf(10, at);
        must(end >= 0 && end - at < MOST_LINE && (size_of_lines += end + 1 - at) <= MOST_TEXT, "a line does not end in its part, or all are too long");
        const fields = parsed(content.subarray(at, end));
        at = end + 1;
        let before = "", types = {};
        must(fields.columns === undefined || whole(fields.columns.length, 1, 16), "the list of columns");
        for (const [name, type, count] of fields.columns ?? []) {
          const size = SIZES[type] * count;
          must(name > before && !(name in fields) && whole(count, 0, MOST_PART) && at + size <= content.length, "a column does not fit");
          const bytes = content.subarray(at, at + size);
          fields[name] = type === "sha256" ? bytes : new ARRAYS[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + size));
          at += size;
          types[before = name] = type;
        }
        delete fields.columns;
        yield [fields, types];
      }
      must(at === content.length, "a part has bytes after its last line");
    }
    must(rest.length === 0 && read(1).length === 0, "bytes follow the last part");
    about.snapshot = snapshot.digest("hex");
  } finally { closeSync(file); }
}

function signs(key, message, signature) {
  if (!hex(key, 64) || !hex(signature, 128)) return false;
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(key, "hex").toString("base64url") };
  return ed25519(null, message, createPublicKey({ key: jwk, format: "jwk" }), Buffer.from(signature, "hex"));
}

function verify(path, key) {
  const about = {}, of = { derived: [] };
  let reached = 0, format;
  for (const [line, types] of bundle(path, key, about)) {
    format ??= line.format === "transfer" ? "transfer" : "query";
    const names = FIELDS[format][line.kind], kind = names ? line.kind : "derived";
    must(ORDER.indexOf(kind) >= reached && (kind === "head") === (of.head === undefined), `a line of the kind ${line.kind} out of order`);
    reached = ORDER.indexOf(kind);
    const found = Object.keys(line).filter((name) => name !== "kind").sort().map((name) => (types[name] ? `${name}:${types[name]}` : name));
    must(!names || found.join() === names, `the fields of a line of the kind ${kind}`);
    (of[kind] ??= []).push(line);
    must((TEXTS[kind] ?? []).every((name) => text(line[name])), `a field of a line of the kind ${kind} is no text`);
    for (const each of line.submissions ?? []) must(Object.keys(each).sort().join() === SUBMISSION && TEXTS.submission.every((name) => text(each[name])) && each.eligible === !each.why, "a submission");
    must(new Set((line.submissions ?? []).map((each) => each.team)).size === (line.submissions ?? []).length, "a team is listed twice");
  }
  const head = of.head[0];
  must([head.round, head.rules_version].every((each) => whole(each, 0, Number.MAX_SAFE_INTEGER)) && depth(head.rules) && !Array.isArray(head.rules), "the head");
  must(format === "transfer" ? head.version === 3 || head.version === 4 : head.format === 4, "its version is not known to this program");
  const due = format === "transfer" ? transfer(head, of) : query(head, of, (value) => sha256(canonical(value)));
  must(due.length === of.derived.length, "derived lines are missing, or too many");
  due.forEach((line, at) => {
    const found = of.derived[at], ignored = Object.fromEntries(NOT_DERIVED.filter((name) => name in found).map((name) => [name, found[name]]));
    must(same(found, { ...line, ...(["place", "standing"].includes(line.kind) ? ignored : {}) }), `${line.kind} of ${line.player ?? line.stage ?? line.model}: it should be ${canonical(line)}`);
  });
  return about;
}

// transfer format: equations 6 to 10 of Kurakin et al. 2018 in exact fractions [numerator, denominator]
const add = ([a, b], [c, d]) => reduced(a * d + c * b, b * d);
const times = ([a, b], [c, d]) => reduced(a * c, b * d);
const share = (a, b) => reduced(BigInt(a), BigInt(b));
function reduced(a, b) { let [x, y] = [a, b]; while (y) [x, y] = [y, x % y]; return x ? [a / x, b / x] : [a, b]; }
function number([a, b]) { // the double next to a fraction from 0 to 1: a last bit stands for all that is cut off
  if (!a) return 0;
  const shift = 64 + b.toString(2).length - a.toString(2).length, digits = (a << BigInt(shift)) / b;
  return Number(digits * b === a << BigInt(shift) ? digits : digits | 1n) / 2 ** shift;
}

function transfer(head, of) {
  const { rules } = head, batches = of.batch ?? [], entrants = of.entrant ?? [], tracks = ["attack", "targeted_attack", "defence"];
  must(whole(head.samples, 1, 10_000) && whole(rules.batch_images, 1, Infinity) && large(head.seed), "the number of images, or the seed");
  must(Object.keys(rules).sort().join() === RULES && whole(rules.classes, 2, 32_767) && ["coverage", "complete"].includes(rules.opponents) && rules.epsilons.length && rules.epsilons.every((each) => whole(each, 1, 255)), "the rules");
  must(entrants.every((each) => tracks.includes(each.track) && text(each.baseline) && (each.submissions.length || each.baseline)), "an entrant");
  const sizes = []; // of the batches, with their epsilons; drawn ones need Python's generator
  for (let start = 0; start < head.samples; start += rules.batch_images) sizes.push(Math.min(rules.batch_images, head.samples - start));
  must(batches.length === sizes.length, "the number of batches");
  batches.forEach((line, at) => {
    const cycled = rules.epsilon_order === "drawn" ? rules.epsilons.includes(line.epsilon) : line.epsilon === rules.epsilons[at % rules.epsilons.length];
    must(line.batch === at && cycled && line.labels.length === sizes[at] && line.targets.length === sizes[at] && line.hashes.length === 32 * sizes[at], `batch ${at}`);
    must(line.labels.every((label) => whole(label, 0, rules.classes - 1)) && line.targets.every((label, image) => whole(label, -1, rules.classes - 1) && label !== line.labels[image]), `labels of batch ${at}`);
  });
  const hashes = Buffer.concat(batches.map((line) => line.hashes)).toString("hex").match(/.{64}/g);
  must(new Set(hashes).size === hashes.length && hashes.every((each) => /[^0]/.test(each)) && sha256(canonical(hashes)) === head.commitment, "the commitment to the samples");
  const { round_kind, samples, rules_version, seed } = head, narrow = head.version === 3, digest = (value) => sha256(canonical(value));
  const field = entrants.map((each) => [each.track, each.player, each.baseline, each.submissions.map((one) => [one.team, one.commit, ...(narrow ? [] : [one.licence])])]);
  must(digest(narrow ? [head.field_salt, field] : [head.field_salt, digest({ round_kind, samples, rules_version, rules, seed }), field]) === head.field_commitment, "the commitment to the field");
  must(new Set(entrants.map((each) => each.player)).size === entrants.length && entrants.every((each, at) => !at || tracks.indexOf(each.track) >= tracks.indexOf(entrants[at - 1].track)), "the players");
  const attacks = entrants.filter((each) => each.track !== "defence"), defences = entrants.filter((each) => each.track === "defence");
  const names = (players) => players.map((each) => each.player).sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const runs = names(attacks).flatMap((attack) => batches.map((_, batch) => ({ attack, batch })));
  must((of.attack ?? []).length === runs.length, "the results are incomplete: runs of attacks");
  const made = new Map(attacks.map((each) => [each.player, []])), truth = batches.flatMap((line) => [...line.labels]), targets = batches.flatMap((line) => [...line.targets]);
  (of.attack ?? []).forEach((line, at) => {
    must(line.attack === runs[at].attack && line.batch === runs[at].batch && line.hashes.length === 32 * sizes[line.batch] && hex(line.archive, 64), "runs of attacks are out of order");
    must(["", ...REASONS].includes(line.reason), "the reason of a run");
    for (let start = 0; start < line.hashes.length; start += 32) made.get(line.attack).push(line.hashes.subarray(start, start + 32).some(Boolean));
    must(line.made === made.get(line.attack).slice(-sizes[line.batch]).filter(Boolean).length, "the number of images that an attack made");
  });
  const pairs = names(attacks).flatMap((attack) => names(defences).map((defence) => ({ attack, defence })));
  must((of.labels ?? []).length === pairs.length, "the results are incomplete: labels");
  const targeted = new Set(attacks.filter((each) => each.track === "targeted_attack").map((each) => each.player));
  const count = (flags) => flags.filter(Boolean).length;
  pairs.forEach((pair, at) => {
    const line = of.labels[at], of_images = made.get(pair.attack), { labels, reasons } = line;
    must(!Array.isArray(reasons) && Object.entries(reasons).every(([number, reason]) => batches.some((each) => String(each.batch) === number) && REASONS.includes(reason)), "the reasons of a pair");
    must(line.attack === pair.attack && line.defence === pair.defence && labels.length === truth.length, "labels are out of order, or too few");
    must(labels.every((label, image) => whole(label, -1, rules.classes) && (label === -1 || of_images[image])), "a label outside the classes, or of an image that was not made");
    const aimed = targeted.has(pair.attack), right = labels.map((label, image) => label === truth[image]);
    const hits = aimed ? labels.filter((label, image) => label !== -1 && label === targets[image]).length : 0;
    Object.assign(pair, { images: truth.length, made: count(of_images), labelled: labels.filter((label) => label !== -1).length, correct: count(right) });
    pair.fooled = aimed ? hits : pair.labelled - pair.correct;
  });
  const total = (own, name) => own.reduce((sum, pair) => sum + pair[name], 0);
  const of_player = (player) => pairs.filter((pair) => pair.attack === player || pair.defence === player);
  const coverage = new Map(entrants.map((each) => {
    const own = of_player(each.player), all = each.track === "defence" ? total(own, "made") : total(own, "images");
    return [each.player, all ? share(each.track === "defence" ? total(own, "labelled") : total(own, "made"), all) : [1n, 1n]];
  }));
  const weight = (player) => { const own = coverage.get(player); return rules.opponents === "coverage" ? own : [own[0] === own[1] ? 1n : 0n, 1n]; };
  return tracks.flatMap((track) => {
    const rows = entrants.filter((each) => each.track === track && of_player(each.player).length).map((each) => {
      const defending = track === "defence", worst = [];
      let raw = 0, sum = [0n, 1n], weights = [0n, 1n];
      for (const pair of of_player(each.player)) {
        const points = defending ? pair.correct : pair.fooled, possible = defending ? pair.made : pair.images - pair.made + pair.labelled;
        const own = weight(defending ? pair.attack : pair.defence);
        if (!own[0] || !possible) continue;
        raw += points;
        worst.push((defending ? pair.correct + pair.images - pair.made : pair.fooled + pair.made - pair.labelled) / pair.images);
        [sum, weights] = [add(sum, times(own, share(points, possible))), add(weights, own)];
      }
      const score = weights[0] ? number(reduced(sum[0] * weights[1], sum[1] * weights[0])) : null;
      return { kind: "standing", track, player: each.player, place: null, score, worst: worst.length ? Math.min(...worst) : null, raw, coverage: number(coverage.get(each.player)), opponents: worst.length };
    });
    const order = new Map(names(rows).map((name, at) => [name, at]));
    rows.sort((one, other) => (one.score === null) - (other.score === null) || other.score - one.score || order.get(one.player) - order.get(other.player));
    const placed = rows.filter((row) => entrants.find((each) => each.player === row.player).submissions.length);
    placed.forEach((row, at) => { row.place = at && placed[at - 1].score === row.score ? placed[at - 1].place : at + 1; });
    return rows;
  });
}

const words = process.argv.slice(2), key = words[0] === "--key" ? words.splice(0, 2)[1] : undefined;
if (!words.length || (key !== undefined && !hex(key, 64))) { console.error("node tools/verify.mjs [--key HEX] BUNDLE..."); process.exit(2); }
for (const path of words) try {
  const about = verify(path, key);
  console.log(`${path}: valid, snapshot ${about.snapshot}, signed by ${about.key}${key ? "" : ": compare it with the organisers' published key"}`);
  process.exitCode ||= key ? 0 : 5;
} catch (error) { console.log(`${path}: invalid: ${error.message}`); process.exitCode = 3; }
