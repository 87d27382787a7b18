// A plan as a tree. Steps that take much of the time, or whose estimate was wrong, are marked.

import { amount, bytes } from "./figures";
import type { Explanation, Plan } from "./run";

const ms = (nanos: number) => `${(nanos / 1e6).toFixed(nanos < 1e7 ? 2 : 0)} ms`;

// own is the time of an operator without its inputs.
const own = (p: Plan) => Math.max(p.nanos - p.inputs.reduce((n, i) => n + i.nanos, 0), 0);
const all = (p: Plan): Plan[] => [p, ...p.inputs.flatMap(all)];

export function PlanView({ explanation: e }: { explanation: Explanation }) {
  const steps = all(e.plan);
  // With a run cost is time. Without one it is the estimated number of rows.
  const cost = e.ran ? own : (p: Plan) => p.estimate ?? 0;
  const sum = steps.reduce((n, p) => n + cost(p), 0);
  return <div class="plan">
    {e.ran && <p>{amount(e.rows)} rows, {amount(e.rowsRead)} read, {(e.seconds * 1e3).toFixed(2)} ms, of them {(e.planSeconds * 1e3).toFixed(2)} to plan.</p>}
    <ul><Step plan={e.plan} ran={e.ran} cost={cost} sum={sum} /></ul>
  </div>;
}

function Step({ plan: p, ran, cost, sum }: { plan: Plan; ran: boolean; cost: (p: Plan) => number; sum: number }) {
  const share = sum > 0 ? cost(p) / sum : 0;
  // A step is expensive if it has a quarter of the cost. A plan of one step has nothing to compare.
  const expensive = share >= 0.25 && cost(p) < sum;
  const wrong = ran && p.estimate !== null && Math.max(p.rows, p.estimate) > 100
    ? Math.max(p.rows + 1, p.estimate + 1) / Math.min(p.rows + 1, p.estimate + 1) : 1;
  return <li>
    <div class={expensive ? "step expensive" : "step"}>
      <b>{p.operator}</b> <code>{p.detail}</code>
      <span class="dim"> {[
        p.estimate !== null && `about ${amount(p.estimate)} rows expected`,
        ran && `${amount(p.rows)} rows`, ran && p.reads > 0 && `${amount(p.reads)} read`, ran && p.nanos > 0 && `${ms(own(p))} here`,
        ran && !!p.memory && `${bytes(p.memory)} of memory`, ran && !!p.spilled && `${bytes(p.spilled)} in files`,
      ].filter(Boolean).join(", ")}</span>
      {expensive && <span class="badge">{Math.round(share * 100)}% of the {ran ? "time" : "expected rows"}</span>}
      {wrong >= 10 && <span class="badge">estimate wrong by {Math.round(wrong)} times</span>}
      {sum > 0 && <meter class="share" min={0} max={1} value={share} aria-label={`Share of ${p.operator}`} />}
    </div>
    {p.inputs.length > 0 && <ul>{p.inputs.map((input, i) => <Step key={i} plan={input} ran={ran} cost={cost} sum={sum} />)}</ul>}
  </li>;
}
