// The machines: what they hold, their leases, the map of segments, copies that are made, and the graph of links.

import { useEffect, useState } from "preact/hooks";
import { ask, emit, json, message, url } from "./api";
import { confirmed } from "./dialogs";
import { Figures, amount, bytes, duration } from "./figures";
import { useLoad } from "./load";
import { type Absent, AbsentMembers } from "./queries";
import { MapView, maxSegments, type SegmentMap } from "./segment-map";

interface Walk { rows?: number; repaired?: number; left?: number; damaged?: number; resumed?: number; etaSeconds?: number }
interface Member {
  id: string; address: string; state: string; voter?: boolean; version?: string; segments?: number; triples?: number; copies?: number; bytes?: number; freeBytes?: number;
  lag?: number; leaseSeconds?: number; walk?: Walk; slow?: number; damaged?: boolean; error?: string;
}
interface Status {
  version: string; epoch: number; members: Member[]; segments: number; triples: number; exact?: boolean; annotations: number; rebuilding: number; lost: number; bytes: number; freeBytes: number;
  corruptions: number; readOnly: boolean; error?: string; cluster?: string; phase?: string; leader?: string; waiting?: string; copies?: number; bears?: number; staleSeconds?: number; noMajority?: boolean; missing?: string[];
  storedCopies?: number; excluded?: { id: string; address: string; epoch: number; why: string }[];
  lostRanges?: { order: string; from: string; until: string; epoch: number }[];
  scrub?: { passes: number; differences: number; repaired: number; ageSeconds: number; error?: string };
}

const phases: Record<string, string> = {
  idle: "idle: nothing moves", fill: "fill: copies are made", serve: "serve: what is left over is swept", ingest: "ingest: a bulk load",
};

export function ClusterPage() {
  const status = useLoad(signal => json<Status>("status", { signal }), [], 1000);
  const [error, setError] = useState("");
  const s = status.value;
  useEffect(() => { if (s) emit("status", s); }, [s]);
  // A map may be large, so it is read often only while something moves.
  const map = useLoad(signal => json<SegmentMap>(url("segments", { limit: maxSegments }), { signal }), [], s?.phase === "fill" ? 1000 : 10_000);
  useEffect(map.again, [s?.epoch, s?.phase]);
  // change sends a request of an operator after a question.
  const change = async (title: string, text: string, yes: string, path: string) => {
    setError("");
    if (!await confirmed(title, text, yes)) return;
    try {
      await ask(path, { method: "POST" });
      emit("data");
    } catch (err) {
      setError(message(err));
    }
  };
  return <>
    <h2>{s?.cluster ? `Cluster ${s.cluster}` : "Machine"}</h2>
    {status.error && <p role="alert" class="error">{status.error}</p>}
    {error && <p role="alert" class="error">{error}</p>}
    {s && <>
      <Risks s={s} />
      <Figures all={[
        [s.exact ? "Triples" : "Triples, about", amount(s.triples)], ["Annotations", amount(s.annotations)], ["Machines", s.members.length], ["Segments", amount(s.segments)],
        ["Tables", bytes(s.bytes)],
        ["Epoch", amount(s.epoch)], ["Phase", s.phase && (phases[s.phase] ?? s.phase)], ["Copies of each triple", s.storedCopies && s.storedCopies < (s.copies ?? 0) ? `${s.storedCopies} of ${s.copies}` : s.copies], ["More losses that the data bears", s.bears],
        ["Copies still to be made", s.cluster && amount(s.rebuilding)], ["The leader waits", s.waiting],
        ["Scrubs", s.scrub && `${amount(s.scrub.passes)}, the last one ${duration(s.scrub.ageSeconds)} ago; ${amount(s.scrub.differences)} differences, ${amount(s.scrub.repaired)} repaired`],
        ["Version", s.version],
      ]} />
      {s.cluster && <div class="bar">
        <label>Copies of each triple <select value={s.copies} onChange={e => {
          const n = e.currentTarget.value;
          e.currentTarget.value = String(s.copies);
          change("Change the copies?", `Each triple will be on ${n} machines. Copies are made or deleted in the background.`, `Keep ${n} copies`, url("cluster/copies", { copies: n }));
        }}>{[2, 3, 4, 5].map(n => <option key={n} value={n}>{n}</option>)}</select></label>
        {s.lost > 0 && <button type="button" class="danger" onClick={() => change("Accept the loss?", "Reads of the lost ranges will answer from the rows that are left, as if these were all.", "Accept the loss", "cluster/accept-loss")}>Accept the loss</button>}
      </div>}
      {s.phase === "fill" && <Filling s={s} map={map.value} />}
      <Members s={s} change={change} />
      <Activities />
      {map.error && <p role="alert" class="error">The map of segments: {map.error}</p>}
      {map.value && <MapView map={map.value} names={Object.fromEntries(s.members.map(m => [m.id, m.address]))} />}
      {!!s.lostRanges?.length && <section>
        <h2>Lost ranges</h2>
        <table class="plain"><thead><tr><th scope="col">Order</th><th scope="col">From</th><th scope="col">Until</th><th scope="col">Since epoch</th></tr></thead>
          <tbody>{s.lostRanges.map((r, i) => <tr key={i}><td>{r.order}</td><td>{r.from}</td><td>{r.until}</td><td>{amount(r.epoch)}</td></tr>)}</tbody></table>
      </section>}
      <LinkServers members={s.members} />
    </>}
  </>;
}

// Risks says what is wrong, or that nothing is.
function Risks({ s }: { s: Status }) {
  const all = [
    s.error && `This node takes no writes: ${s.error}`,
    s.staleSeconds && `No leader is reached: the figures are ${duration(s.staleSeconds)} old.`,
    s.noMajority && "This node reads without the other one of two members, and takes no writes.",
    s.lost > 0 && `Rows of ${s.lost} ranges may be gone for good.`,
    s.corruptions > 0 && `${s.corruptions} damaged tables were found on this node.`,
    s.cluster && s.bears === 0 && "If one more machine is lost now, data is lost with it.",
    ...s.members.filter(m => m.state === "down").map(m => `${m.address} is down.`),
    ...(s.excluded ?? []).map(m => `${m.address}, ${m.why}, was excluded. Start it again, or remove it below if it will not come back.`),
    s.cluster && s.phase !== "fill" && s.storedCopies && s.storedCopies < (s.copies ?? 0) && `Each triple has ${s.storedCopies} of ${s.copies} copies: the cluster has too few machines.`,
    ...s.members.flatMap(m => [m.error && `${m.address} takes no writes: ${m.error}`, m.damaged && `The disk of ${m.address} has returned damaged rows.`]),
  ].filter(Boolean);
  if (!all.length) return <p class="good">Nothing is wrong.</p>;
  return <ul class="error risks">{all.map(text => <li key={String(text)}>{text}</li>)}</ul>;
}

// Filling shows how far the backfill of all machines is, and what a further loss would cost until its end.
function Filling({ s, map }: { s: Status; map?: SegmentMap }) {
  const walks = s.members.flatMap(m => m.walk ?? []), sum = (of: (w: Walk) => number | undefined) => walks.reduce((n, w) => n + (of(w) ?? 0), 0);
  const done = sum(w => w.rows), all = done + sum(w => w.left), eta = Math.max(0, ...walks.map(w => w.etaSeconds ?? 0));
  const risks = [
    !!s.missing?.length && `The copies of ${s.missing.join(", ")} are missing until this ends.`,
    !!map?.rebuilt && `${amount(map.rebuilt)} segments have lost their owner: other copies answer for them.`,
    s.lost > 0 ? "Some rows may be lost already." : s.bears ? `Meanwhile the data bears the loss of ${s.bears === 1 ? "one more machine" : `${s.bears} more machines`}.` : "Meanwhile the loss of one more machine loses data.",
  ].filter(Boolean);
  return <section aria-labelledby="backfill">
    <h2 id="backfill">Backfill</h2>
    <div class="bar"><progress max={all || 1} value={done} aria-label="Backfill of all machines" />
      <span>{walks.length === 0 ? "The machines begin, or wait for each other." : <>{amount(done)} of about {amount(all)} rows read on {walks.length} {walks.length === 1 ? "machine" : "machines"}, {amount(sum(w => w.repaired))} copied{eta > 0 && `, about ${duration(eta)} left`}</>}</span></div>
    <ul class={s.bears ? "risks" : "risks error"}>{risks.map(text => <li key={String(text)}>{text}</li>)}</ul>
  </section>;
}

type Change = (title: string, text: string, yes: string, path: string) => void;

function Members({ s, change }: { s: Status; change: Change }) {
  const whole = !!s.cluster;
  return <div class="wide" tabIndex={0} role="region" aria-label="Machines">
    <table class="plain">
      <thead><tr>{["Machine", "State", whole ? "Triples (order SPO)" : "Triples", ...whole ? ["Stored copies"] : [], "Tables", "Disk", ...whole ? ["Segments", "Lease", "Behind", "Backfill", ""] : []].map(h => h ? <th key={h} scope="col">{h}</th> : <td key="" />)}</tr></thead>
      <tbody>{s.members.map(m => {
        const held = whole ? m.bytes ?? 0 : s.bytes, free = whole ? m.freeBytes : s.freeBytes;
        return <tr key={m.id}>
          <th scope="row">{m.address}<br /><span class="dim">{m.id}{m.id === s.leader && ", leader"}{m.voter && ", voter"}{m.version && m.version !== s.version && `, ${m.version}`}</span></th>
          <td class={m.state === "up" || m.state === "spare" ? "" : "warm"}>{m.state}{!!m.slow && `, ${m.slow} wait for it`}</td>
          <td class="number">{amount(whole ? m.triples ?? 0 : s.triples)}</td>
          {whole && <td class="number">{amount(m.copies ?? 0)}</td>}
          <td class="number">{bytes(held)}</td>
          <td>{free !== undefined && free >= 0 && <><meter min={0} max={held + free || 1} value={held} aria-label={`Share of the disk of ${m.address}`} /> {bytes(free)} free</>}</td>
          {whole && <>
            <td class="number">{amount(m.segments ?? 0)}</td>
            <td class="number">{m.leaseSeconds ? duration(m.leaseSeconds) : "none"}</td>
            <td class="number">{m.lag ? `${amount(m.lag)} epochs` : ""}</td>
            <td>{m.walk && <Backfill walk={m.walk} address={m.address} />}</td>
            <td><div class="bar">
              <button type="button" aria-label={`Let ${m.address} leave`} onClick={() => change("Let the machine leave?", `${m.address} hands over what it holds, and is a member no more after that.`, "Let it leave", url("cluster/leave", { machine: m.id }))}>Leave</button>
              <button type="button" aria-label={`Remove ${m.address}`} onClick={() => change("Remove the machine?", `${m.address} must have stopped; while it runs, the removal waits. What it held is made again from other copies.`, "Remove it", url("cluster/remove", { machine: m.id }))}>Remove</button>
            </div></td>
          </>}
        </tr>;
      })}{(s.excluded ?? []).map(m => <tr key={m.id}>
        <th scope="row">{m.address}<br /><span class="dim">{m.id}</span></th>
        <td class="warm">excluded</td>
        <td colSpan={8}>{m.why}, since epoch {amount(m.epoch)}</td>
        <td><button type="button" aria-label={`Remove ${m.address}`} onClick={() => change("Remove the machine?", `${m.address} is not expected back any more. It may still join again.`, "Remove it", url("cluster/remove", { machine: m.id }))}>Remove</button></td>
      </tr>)}</tbody>
    </table>
  </div>;
}

interface Activity {
  machine?: string; node?: string; seconds: number; processorSeconds: number; memory: number; requests: number; requestsInFlight: number; queries: number; queriesRunning: number;
  rowsRead: number; bytesWritten: number; compactionDebt?: number; // unknown of a machine with an older release
}

const activityPeriod = 2000;

// Activities shows what each machine does. Rates are the growth between two answers, so the first one has none.
function Activities() {
  const all = useLoad(signal => json<{ members: Activity[]; absent?: Absent[] }>("cluster/activity", { signal }), [], activityPeriod);
  const [[before, after], setPair] = useState<Activity[][]>([[], []]);
  useEffect(() => {
    if (all.value) setPair(([, last]) => [last, all.value!.members]);
  }, [all.value]);
  // rate returns how much a counter grows in a second. A machine that was started again has no earlier answer.
  const rate = (m: Activity, name: "processorSeconds" | "requests" | "queries" | "rowsRead" | "bytesWritten", show: (n: number) => string) => {
    const last = before.find(other => other.machine === m.machine);
    return last && m.seconds > last.seconds ? show(Math.max(m[name] - last[name], 0) / (m.seconds - last.seconds)) : "";
  };
  const one = (n: number) => n.toLocaleString(undefined, { maximumFractionDigits: 1 });
  if (!after.length && !all.error) return null;
  return <section aria-labelledby="activity">
    <h2 id="activity">Activity</h2>
    {all.error && <p role="alert" class="error">{all.error}</p>}
    <AbsentMembers all={all.value?.absent} what="The activity" />
    <div class="wide" tabIndex={0} role="region" aria-label="Table of activity">
      <table class="plain">
        <thead><tr>{["Machine", "Requests a second", "Requests now", "Queries a second", "Queries now", "Rows read a second", "Written a second", "Processors used", "Memory", "To compact"].map(h => <th key={h} scope="col">{h}</th>)}</tr></thead>
        <tbody>{after.map(m => <tr key={m.machine}>
          <th scope="row">{m.node ?? "this node"}</th>
          <td class="number">{rate(m, "requests", one)}</td><td class="number">{amount(m.requestsInFlight)}</td>
          <td class="number">{rate(m, "queries", one)}</td><td class="number">{amount(m.queriesRunning)}</td>
          <td class="number">{rate(m, "rowsRead", n => amount(Math.round(n)))}</td><td class="number">{rate(m, "bytesWritten", bytes)}</td>
          <td class="number">{rate(m, "processorSeconds", n => n.toFixed(2))}</td><td class="number">{bytes(m.memory)}</td>
          <td class="number">{m.compactionDebt === undefined ? "unknown" : bytes(m.compactionDebt)}</td>
        </tr>)}</tbody>
      </table>
    </div>
  </section>;
}

function Backfill({ walk: w, address }: { walk: Walk; address: string }) {
  const rows = w.rows ?? 0, left = w.left ?? 0;
  return <><meter min={0} max={rows + left || 1} value={rows} aria-label={`Backfill of ${address}`} /> {amount(left)} rows left{!!w.etaSeconds && `, ${duration(w.etaSeconds)}`}, {amount(w.repaired ?? 0)} copied{!!w.damaged && `, ${amount(w.damaged)} damaged`}</>;
}

interface LinkFigures { id?: string; pages: number; links: number; linked: number; cells: number; bytes: number; deltaBytes: number }

// LinkServers shows the parts of the graph of links. Without links there is nothing to show.
function LinkServers({ members }: { members: Member[] }) {
  const stats = useLoad(async signal => {
    const all = await json<LinkFigures & { servers: LinkFigures[]; loading: boolean; progress?: number }>("links/stats", { signal });
    const metrics = await (await ask("metrics", { signal })).text();
    const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1] ?? NaN);
    return { ...all, partitions: metric("trefoil_links_partitions"), missing: metric("trefoil_links_partitions_missing") };
  }, [], 10_000);
  const l = stats.value;
  if (!l || l.pages === 0) return null;
  return <section>
    <h2>Hyperlinks</h2>
    <Figures all={[["Pages", amount(l.pages)], ["Links", amount(l.links)], ["Memory", bytes(l.bytes)], ["Loading", l.loading ? `${Math.round((l.progress ?? 0) * 100)}%` : undefined],
      ["Partitions of 64 on this node", Number.isNaN(l.partitions) ? undefined : l.partitions], ["Partitions that it still lacks", l.missing || undefined]]} />
    <div class="wide" tabIndex={0} role="region" aria-label="Servers of links">
      <table class="plain">
        <thead><tr>{["Machine", "Pages", "Links from them", "Links to them", "Cells", "Memory", "Of it changes"].map(h => <th key={h} scope="col">{h}</th>)}</tr></thead>
        <tbody>{l.servers.map(v => <tr key={v.id}><th scope="row">{members.find(m => m.id === v.id)?.address ?? v.id}</th>
          {[v.pages, v.links, v.linked, v.cells].map((n, i) => <td key={i} class="number">{amount(n)}</td>)}<td class="number">{bytes(v.bytes)}</td><td class="number">{bytes(v.deltaBytes)}</td></tr>)}</tbody>
      </table>
    </div>
  </section>;
}
