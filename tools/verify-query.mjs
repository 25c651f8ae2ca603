// The query format for verify.mjs: a round is played again from its results (schedules halving and ladder-2), by Brendel
// et al. 2020, equations 2 to 5 and section 3.3. Models and attacks are positions in the order of their entry.
const TOP = 5;
export const must = (holds, text) => { if (!holds) throw new Error(text); };
export const whole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
export const hex = (text, digits) => typeof text === "string" && text.length === digits && /^[0-9a-f]*$/.test(text);

export const text = (value) => typeof value === "string";
const flag = (value) => typeof value === "boolean";
export const large = (value) => text(value) && /^(0|-?[1-9]\d{0,18})$/.test(value) && BigInt(value) < 2n ** 63n && BigInt(value) > -(2n ** 63n);

const middle = (values) => {
  const sorted = Float64Array.from(values).sort(), n = sorted.length;
  return n ? (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 : null;
};

function exact(values) { // the sum, rounded once (Shewchuk 1997)
  const kept = [];
  for (let x of values) {
    let count = 0;
    for (let y of kept) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y, low = y - (high - x);
      if (low) kept[count++] = low;
      x = high;
    }
    kept.length = count;
    kept.push(x);
  }
  let high = kept.pop() ?? 0, low = 0;
  while (kept.length && !low) { const x = high, y = kept.pop(); high = x + y; low = y - (high - x); }
  if (kept.length && low * kept.at(-1) > 0 && high + 2 * low - high === 2 * low) high += 2 * low;
  return high;
}

function ranked(attacking, players, observed, byRank) { // players best first, with their values; NaN does not count
  const better = attacking ? 1 : -1, keys = players.map((_, row) => {
    const present = observed[row].filter((value) => !Number.isNaN(value));
    return { player: players[row], present, value: byRank ? (present.length ? 0 : null) : middle(present) };
  });
  if (byRank) for (let column = 0; column < observed[0].length; column++) {
    const here = keys.map((_, row) => row).filter((row) => !Number.isNaN(observed[row][column])).sort((one, other) => better * (observed[one][column] - observed[other][column]));
    for (let start = 0, end; start < here.length; start = end) {
      for (end = start + 1; end < here.length && observed[here[end]][column] === observed[here[start]][column]; end++);
      for (let at = start; at < end; at++) keys[here[at]].value += start + end + 1; // twice the rank
    }
  }
  if (byRank) for (const key of keys) if (key.present.length) key.value /= 2 * key.present.length;
  const shared = new Map();
  for (const key of keys) shared.set(key.value, (shared.get(key.value) ?? 0) + 1);
  for (const key of keys) key.mean = key.value !== null && shared.get(key.value) > 1 ? better * (exact(key.present) / key.present.length) : 0;
  const sign = byRank ? 1 : better;
  keys.sort((one, other) => (one.value === null) - (other.value === null) || sign * (one.value - other.value) || one.mean - other.mean || one.player - other.player);
  return { players: keys.map((key) => key.player), values: keys.map((key) => key.value) };
}

export function query(head, of, digest) { // the lines that follow from the given ones
  const samples = of.sample ?? [], S = head.samples, entrants = of.entrant ?? [], results = new Map();
  must(head.schedule === "halving" || head.schedule === "ladder-2", `the schedule ${head.schedule} is not known to this program`);
  must(head.sweep === true && head.guard === false && samples.length === S && samples.every((line, at) => line.sample === at && hex(line.hash, 64) && typeof line.worst_case === "number" && line.worst_case >= 0 && line.worst_case <= 1e9), "the samples");
  const hashes = samples.map((line) => line.hash), { rules, rules_version, round_kind, schedule, guard, sweep } = head;
  must(new Set(hashes).size === S && digest(hashes) === head.commitment, "the commitment to the samples");
  const of_rules = digest({ round_kind, schedule, guard, sweep, samples: S, rules_version, rules });
  const field = entrants.map((each) => [each.track, each.order, each.prior, each.player, each.bundled, each.teams, each.submissions.map((one, at) => [one.team, one.commit, one.licence, each.eligible_at_freeze[at]])]);
  must(digest([head.field_salt, of_rules, field]) === head.field_commitment, "the commitment to the field");
  must(rules.query_budget === undefined || Number.isSafeInteger(rules.query_budget), "the query budget");
  must(new Set(entrants.map((each) => each.player)).size === entrants.length, "a player is listed twice");
  must(entrants.every((each) => flag(each.bundled) && each.teams.length && JSON.stringify(each.teams) === JSON.stringify(each.submissions.map((one) => one.team)) && each.eligible_at_freeze.length === each.teams.length && each.eligible_at_freeze.every(flag)), "an entrant");
  for (const track of new Set(["model", "untargeted", "targeted", ...entrants.map((each) => each.track)])) {
    const own = entrants.filter((each) => each.track === track), first_to_last = own.map((_, at) => at + 1).join();
    must(["model", "untargeted", "targeted"].includes(track) && own.map((each) => each.order).join() === first_to_last && own.map((each) => each.prior).sort((one, other) => one - other).join() === first_to_last, "the order of the entrants");
  }
  const of_track = (track) => entrants.filter((each) => each.track === track);
  const same_team = (model, attack) => !model.bundled && !attack.bundled && model.teams[0] === attack.teams[0];
  const key = (model, attack) => `${model.player}\0${attack.player}`, audits = new Map((of.audit ?? []).map((line) => [`${line.model}\0${line.attack}`, line.failed_on]));
  const kept = new Set((of.kept ?? []).map((line) => line.model)), asked = new Map();
  const ascending = (names) => names.every((name, at) => !at || Buffer.compare(Buffer.from(names[at - 1]), Buffer.from(name)) < 0);
  must(ascending([...(of.audit ?? []).map((line) => `${line.model}\0${line.attack}`)]), "audits are out of order, or twice");
  must([...audits.values()].every((counts) => counts.length && counts.every((count, at) => count > (counts[at - 1] ?? 0) && count <= S)), "an audit");
  must(ascending((of.kept ?? []).map((line) => line.model)) && (of.kept ?? []).every((line) => text(line.reason) && line.reason && of.audit?.some((one) => one.model === line.model)), "kept models");
  let before = "";
  for (const line of of.results ?? []) {
    const { outcomes, distances, queries, piece_ends: ends } = line, name = `${line.model}\0${line.attack}`;
    must(Buffer.compare(Buffer.from(name), Buffer.from(before)) > 0 && distances.length > 0 && distances.length <= S && outcomes.length === distances.length && queries.length === distances.length, "columns of results");
    must(line.piece_digests.length === 32 * ends.length && ends.every((end, at) => end > (ends[at - 1] ?? 0)) && ends.at(-1) === distances.length && large(line.seed) && queries.every((count) => count <= (rules.query_budget ?? Infinity)), "pieces of results");
    must(distances.every((distance, at) => { const worst = samples[at].worst_case; return outcomes[at] === 0 ? distance >= 0 && distance <= worst && !Object.is(distance, -0) : outcomes[at] === 1 ? distance === worst : outcomes[at] === 2 && Object.is(distance, 0); }), "a distance does not fit its outcome");
    results.set(before = name, line);
  }
  const row = (model, attack, count) => { // the distances of a pair, which the schedule demands
    const name = key(model, attack), found = results.get(name)?.distances;
    asked.set(name, Math.max(count, asked.get(name) ?? 0));
    must(found && found.length >= count, `the results are incomplete: ${name} on ${count} samples`.replace("\0", " against "));
    return found.subarray(0, count);
  };
  const nearest = (rows) => Array.from(rows[0], (_, at) => Math.min(...rows.map((each) => each[at])));
  function bracket(models, attacks, prior, given) { // the replay of a tournament; a side is a list of positions, best first
    const own = models.map((model) => attacks.map((attack) => same_team(model, attack))), stages = [], out = [[], []];
    let [left, rivals, gone] = [prior, [...attacks.keys()].sort((one, other) => attacks[one].prior - attacks[other].prior), []];
    const name = (side) => (at) => side[at].player, sorted = (set) => [...set].sort((one, other) => one - other);
    const order = (side, against, count, byRank) => side === left ? ranked(false, side, side.map((model) => nearest(against.map((attack) => row(models[model], attacks[attack], count)))), byRank)
      : ranked(true, side, side.map((attack) => against.flatMap((model) => own[model][attack] ? Array(count).fill(NaN) : [...row(models[model], attacks[attack], count)])), byRank);
    const counted = (count, byRank) => { // the recursive top five
      for (let five = rivals, states = [];;) {
        const best = order(left, five, count, byRank).players.slice(0, TOP);
        five = order(rivals, best, count, byRank).players.slice(0, TOP);
        const set = String(sorted(five)), at = states.findIndex((state) => state.set === set), loop = states.push({ set, best, five }) && states.slice(at + 1);
        if (at >= 0) return { loop: loop.length, models: sorted(new Set(loop.flatMap((state) => state.best))), attacks: sorted(new Set(loop.flatMap((state) => state.five))) };
      }
    };
    for (const step of steps(head.schedule, models.length, attacks.length, S, given)) {
      const { samples: count, byRank } = step, leaving = [];
      for (let who, leave;;) {
        for (const model of left) for (const attack of rivals) row(models[model], attacks[attack], count);
        who = given ? { loop: 1, models: sorted(left), attacks: [] } : counted(count, byRank);
        leave = sorted(left).filter((model) => {
          const met = (given ? rivals : who.attacks).filter((attack) => !own[model][attack]), audit = (attack) => audits.get(key(models[model], attacks[attack])) ?? [];
          const failed = kept.has(models[model].player) ? [] : met.filter((attack) => audit(attack).includes(asked.get(key(models[model], attacks[attack]))));
          return failed.length >= 2 && 2 * failed.length > met.length;
        });
        if (leave.length) { leaving.push(...leave); left = left.filter((model) => !leave.includes(model)); must(left.length, "every model left"); continue; }
        const bracket = attacks[0].track, stage = stages.length + 1, places = [given ? left.length : Math.min(step.models, left.length), step.attacks];
        const orders = [given ? { players: left, values: [] } : order(left, who.attacks, count, byRank), order(rivals, who.models, count, byRank)], decided = [];
        const decision = (side, player, place, value, kept_, cut_line, inconsistent = false) => decided.push({ kind: "decision", bracket, stage, side, player, place, value, cut_line, kept: kept_, spared: false, inconsistent });
        const decide = (at, side, players) => orders[at].players.forEach((each, place) => decision(side, name(players)(each), place + 1, orders[at].values[place], place < places[at], step.last ? null : orders[at].values[places[at] - 1]));
        if (!given) decide(0, "model", models);
        leaving.forEach((model, at) => decision("model", name(models)(model), orders[0].players.length + at + 1, null, false, null, true));
        decide(1, "attack", attacks);
        stages.push({ line: { kind: "stage", bracket, stage, samples: count, ordered_by: byRank ? "mean_rank" : "median", panel_models: left.map(name(models)), panel_attacks: given ? [] : rivals.map(name(attacks)),
          counted_models: orders[0].players.filter((each) => who.models.includes(each)).map(name(models)), counted_attacks: orders[1].players.filter((each) => who.attacks.includes(each)).map(name(attacks)), loop: who.loop, renewed: false }, decided });
        [left, rivals] = orders.map((each, at) => { out[at].unshift(...each.players.slice(places[at])); return each.players.slice(0, places[at]); });
        gone = [...leaving, ...gone];
        break;
      }
    }
    return { stages, models: [...left, ...out[0], ...gone].map(name(models)), attacks: [...rivals, ...out[1]].map(name(attacks)), gone: gone.map(name(models)) };
  }
  const by_name = new Map(entrants.map((each) => [each.player, each])), entered = of_track("model"), untargeted = of_track("untargeted"), aimed = of_track("targeted");
  const best_of = (plan) => plan.models.filter((each) => !plan.gone.includes(each)).slice(0, TOP);
  const main = bracket(entered, untargeted, [...entered.keys()].sort((one, other) => entered[one].prior - entered[other].prior), false), best = entered.filter((each) => best_of(main).includes(each.player));
  const second = aimed.length ? bracket(best, aimed, [...best.keys()], true) : null;
  if (second?.gone.length) { main.gone = [...second.gone, ...main.gone]; main.models = [...main.models.filter((each) => !main.gone.includes(each)), ...main.gone]; }
  const last = main.stages.at(-1), short = Math.min(8, S), lines = [];
  for (const model of best_of(main)) for (const attack of untargeted) if (!last.decided.some((each) => each.side === "attack" && each.player === attack.player)) row(by_name.get(model), attack, short);
  for (const plan of second ? [main, second] : [main]) for (const stage of plan.stages) lines.push(stage.line, ...stage.decided);
  const line_of = (model, attack) => results.get(key(model, attack)), whole_row = (model, attack) => line_of(model, attack).distances;
  function places(track, plan) {
    const modelling = track === "model", side = modelling ? "model" : "attack", end = plan.stages.at(-1), players = modelling ? plan.models : plan.attacks;
    const rivals = (modelling ? end.line.counted_attacks : end.line.counted_models).map((each) => by_name.get(each)), pair = (player, rival) => modelling ? [player, rival] : [rival, player];
    const value = (player, against) => middle(modelling ? nearest(against.map((each) => whole_row(player, each))) : against.flatMap((each) => [...whole_row(each, player)]));
    const overtakes = (one, other) => { // on common opponents, where a team of one of them owns a counted one
      const common = rivals.filter((each) => !same_team(...pair(one, each)) && !same_team(...pair(other, each)));
      return common.length && common.length < rivals.length && (modelling ? value(one, common) > value(other, common) : value(one, common) < value(other, common));
    };
    const finalists = players.filter((each) => !(modelling && plan.gone.includes(each)) && end.decided.some((one) => one.side === side && one.player === each)), prizes = [];
    for (const each of finalists) { let at = prizes.length; while (at && overtakes(by_name.get(each), by_name.get(prizes[at - 1]))) at--; prizes.splice(at, 0, each); }
    return players.map((name, at) => {
      const player = by_name.get(name), against = rivals.filter((each) => modelling || !same_team(...pair(player, each))), scored = finalists.includes(name) && against.length;
      const failed = against.map((each) => scored ? line_of(...pair(player, each)).outcomes : []), medians = against.map((each) => scored ? middle(whole_row(...pair(player, each))) : 0);
      return { kind: "place", track, player: name, place: at + 1, stage: plan.stages.findLast((each) => each.decided.some((one) => one.side === side && one.player === name)).line.stage, value: scored ? value(player, against) : null,
        low: null, high: null, met: scored ? against.length : null, opponents: scored ? rivals.length : null, value_against_all: scored ? value(player, rivals) : null, rank_low: null, rank_high: null, separated_from_next: false,
        prize_place: prizes.indexOf(name) + 1 || null, failures: scored ? failed.flatMap((each) => [...each]).filter((each) => each === 1).length : null,
        worst_opponent: scored ? against[medians.indexOf((modelling ? Math.min : Math.max)(...medians))].player : null,
        not_broken: Boolean(scored && modelling && 2 * hashes.filter((_, sample) => failed.every((each) => each[sample] === 1)).length > S), inconsistent: modelling && plan.gone.includes(name) };
    });
  }
  lines.push(...places("model", main), ...places("untargeted", main), ...(second ? places("targeted", second) : []));
  for (const model of best_of(main)) for (const attack of untargeted) if (!last.line.counted_attacks.includes(attack.player)) {
    const reached = nearest(last.line.counted_attacks.map((each) => whole_row(by_name.get(model), by_name.get(each)).subarray(0, short))), own = whole_row(by_name.get(model), attack).subarray(0, short);
    const nearer = own.filter((distance, at) => distance < reached[at]).length;
    if (2 * nearer > short) lines.push({ kind: "warning", model, attack: attack.player, nearer, samples: short, median: middle(own.map((distance, at) => Math.min(distance, reached[at]))) });
  }
  for (const [name, line] of results) must(line.distances.length === asked.get(name), `more results than the schedule demanded: ${name}`);
  for (const [name, counts] of audits) must(counts.at(-1) <= (asked.get(name) ?? 0), `an audit that the schedule did not demand: ${name}`);
  return lines;
}

function* steps(schedule, models, attacks, samples, given) { // the stages: their samples, and how many of each side stay
  const half = (players) => Math.min(players, Math.ceil(players / 2) >= 15 ? Math.ceil(players / 2) : 10);
  if (schedule === "halving") for (let count = 10; attacks > 10 || (models > 10 && !given); count *= 2) {
    [models, attacks] = [given ? models : half(models), half(attacks)];
    yield { samples: Math.min(count, samples), models, attacks, byRank: false };
  } else {
    const [in_models, in_attacks] = [models, attacks], part = (players, percent, least) => Math.min(players, Math.max(least, Math.ceil(players * percent / 100)));
    for (const [count, of_models, of_attacks] of [[2, [75, 40], [40, 28]], [5, [40, 20], [22, 18]], [20, [0, 10], [0, 10]]]) {
      const stay = [given ? models : part(in_models, ...of_models), part(in_attacks, ...of_attacks)];
      if (stay[0] !== models || stay[1] !== attacks) yield { samples: Math.min(count, samples), models: stay[0], attacks: stay[1], byRank: true };
      [models, attacks] = stay;
    }
  }
  yield { samples, models, attacks, byRank: false, last: true };
}
