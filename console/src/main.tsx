// The console: its frame, and the view that the address names.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { events, json } from "./api";
import { TokenLine } from "./dialogs";
import { BrowsePage } from "./browse-page";
import { ClusterPage } from "./cluster-page";
import { DataPage } from "./data-page";
import { OperationsPage } from "./operations-page";
import { QueryPage } from "./query-page";
import { address, adopt, useRoute, type View } from "./route";
import { useSchema } from "./schema";

const views: [View, string][] = [["query", "Query"], ["browse", "Browse"], ["data", "Data"], ["cluster", "Cluster"], ["operations", "Operations"]];

interface Status { triples: number; exact?: boolean; members: unknown[]; version: string; readOnly?: boolean }

// About says what is stored where. It is read again after each change. Pages that read the status report it, so that no
// two numbers on a page differ.
function About() {
  const [status, setStatus] = useState<Status | null>(null);
  useEffect(() => {
    const read = () => json<Status>("status").then(setStatus, () => setStatus(null));
    const take = (e: Event) => setStatus((e as CustomEvent<Status>).detail);
    read();
    events.addEventListener("data", read);
    events.addEventListener("signed-in", read);
    events.addEventListener("status", take);
    return () => {
      events.removeEventListener("data", read);
      events.removeEventListener("signed-in", read);
      events.removeEventListener("status", take);
    };
  }, []);
  if (!status) return <span id="about" class="dim" />;
  return <span id="about" class="dim" title={`Version ${status.version}`}>
    {!status.exact && "about "}{status.triples.toLocaleString()} triples on {status.members.length} {status.members.length === 1 ? "machine" : "machines"}{status.readOnly && ", read-only"}
  </span>;
}

function App() {
  const route = useRoute(), schema = useSchema();
  useEffect(() => {
    document.title = route.view === "query" ? "trefoil" : `trefoil: ${route.argument ?? route.view}`;
  }, [route.view, route.argument]);
  return <>
    <header>
      <h1>trefoil</h1>
      <nav aria-label="Views"><ul>
        {views.map(([view, label]) => <li key={view}><a href={address(view)} aria-current={(route.view === "search" ? "browse" : route.view) === view ? "page" : undefined}>{label}</a></li>)}
      </ul></nav>
      <About />
    </header>
    <main>
      <TokenLine />
      {/* The query page stays, so that its answers are there after a step back. */}
      <div hidden={route.view !== "query"}><QueryPage asked={route.view === "query" ? route.argument : undefined} schema={schema} /></div>
      {route.view === "browse" && <BrowsePage name={route.argument} filter={route.filter} schema={schema} />}
      {route.view === "search" && <BrowsePage words={route.argument} filter={route.filter} schema={schema} />}
      {route.view === "data" && <DataPage schema={schema} />}
      {route.view === "cluster" && <ClusterPage />}
      {route.view === "operations" && <OperationsPage />}
    </main>
    <footer><a href="console/licenses.txt">Licences of the parts of this page</a></footer>
  </>;
}

adopt();
render(<App />, document.getElementById("root")!);
