"""The command line. Errors are one line on stderr; exit 2 for usage, 1 for failure."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from proxy import __version__
from proxy.evaluate import arguments as evaluation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

    from proxy.scoring.base import Scorer
    from proxy.settings import Settings
    from proxy.upstream.models import UpstreamSet
    from proxy.yamlfile import Problem

_T = TypeVar("_T")


class _Parser(argparse.ArgumentParser):
    """Usage errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    args = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.command
    try:
        return command(args)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - a command's failure is one line, whatever it was
        return _fail(error)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="groundwarden", description="Pass a model's answer only when the documents support it.")
    parser.add_argument("--version", action="version", version=f"groundwarden {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    serve = commands.add_parser("serve", help="run the proxy")
    serve.add_argument("--config", type=Path, metavar="FILE", help="default: config.yaml in this folder")
    serve.add_argument("--host", help="overrides server.host")
    serve.add_argument("--port", type=_port, help="overrides server.port")
    serve.set_defaults(command=_serve)

    demo = commands.add_parser("demo", help="the proxy on documented examples: no key, no config, no network")
    demo.add_argument("--once", action="store_true", help="exit after the table; 0 if every outcome is as documented")
    demo.add_argument("--port", type=_port, default=8080)
    demo.set_defaults(command=_demo)

    check = commands.add_parser(
        "check", help="every problem of a configuration, with file, line and what would be right"
    )
    check.add_argument(
        "--config", type=Path, metavar="FILE", help="default: config.yaml in this folder, unless policies are named"
    )
    check.add_argument(
        "policies", nargs="*", type=Path, metavar="POLICY", help="policy files or folders to check alone"
    )
    check.add_argument("--no-cases", action="store_true", help="do not judge the policies' own cases (tests/*.yaml)")
    check.set_defaults(command=_check)

    schema = commands.add_parser("schema", help="a JSON Schema for editors: of policies, of config.yaml, of cases")
    schema.add_argument("of", choices=("policy", "config", "cases"))
    schema.add_argument("--path", action="store_true", help="say where the file lies, for # yaml-language-server")
    schema.set_defaults(command=_schema)

    score = commands.add_parser("score", help="judge one answer")
    score.add_argument("--source", type=Path, nargs="+", action="extend", required=True, metavar="FILE")
    score.add_argument("--query", metavar="Q", help="without one, only grounding is judged")
    score.add_argument("--policy", default="default", metavar="P", help="default, strict, or a policy file")
    score.add_argument("--answer", metavar="A")
    score.add_argument("stdin", nargs="?", metavar="-", help="read the answer from standard input")
    score.set_defaults(command=_score, parser=score)

    _add_calibrate(commands.add_parser("calibrate", help="fit a calibration to labelled answers, and find thresholds"))

    evaluate = commands.add_parser("evaluate", help="measure answers as Azure AI evaluation does")
    evaluation.add_to(evaluate)
    evaluate.set_defaults(command=_evaluate)

    _add_replay(commands.add_parser("replay", help="what another policy would have done with recorded traffic"))
    return parser


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Judge the exchanges of an audit by another policy, from their recorded scores: what would have changed, for "
        "whom, and what only scoring anew could tell. Texts are scored again where the audit holds them."
    )
    parser.add_argument("audit", type=Path, nargs="+", metavar="AUDIT.jsonl", help="also several: audit.jsonl*")
    parser.add_argument("--policy", required=True, metavar="P", help="a policy file, default or strict")
    parser.add_argument("--tenant", metavar="ID", help="only this tenant's exchanges")
    parser.add_argument("--was", metavar="POLICY", help="only exchanges that were judged by the policy of this name")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="score with its scorer; default: the one that ships"
    )
    parser.set_defaults(command=_replay)


def _add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Fit a calibration to labelled answers, measure it, and find the thresholds for what is wanted."
    )
    parser.add_argument(
        "labelled",
        type=Path,
        metavar="LABELLED.jsonl",
        help='rows such as {"source": "…", "query": "…", "answer": "…", "supported": true, "relevant": true}',
    )
    parser.add_argument("--policy", default="default", metavar="P", help="default, strict, or a policy file")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="score with its scorer; default: the one that ships"
    )
    parser.add_argument("--check", choices=("grounding", "relevance"), help="default: each that rows are labelled for")
    for quantity, words in (("precision", "at least"), ("recall", "at least"), ("block rate", "at most")):
        parser.add_argument(
            f"--{quantity.replace(' ', '-')}",
            dest="wishes",
            action="append",
            default=[],
            type=partial(_wish, quantity),
            metavar="X",
            help=f"find the threshold for {words} this {quantity}, between 0 and 1; may be given again",
        )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the calibration here, for a policy to name")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="write a reliability diagram here")
    parser.set_defaults(command=_calibrate, parser=parser)


def _wish(quantity: str, text: str) -> tuple[str, float]:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        message = f"invalid {quantity} {text!r}, try 0.95"
        raise argparse.ArgumentTypeError(message)
    return quantity, value


def _port(text: str) -> int:
    value = int(text) if text.isdigit() else -1
    if not 0 <= value <= 65535:  # noqa: PLR2004 - TCP's own range
        message = f"invalid port {text!r}, try 0 to 65535"
        raise argparse.ArgumentTypeError(message)
    return value


def _serve(args: argparse.Namespace) -> int:
    from proxy.app import Server  # noqa: PLC0415 - `--help` and `check` need no server
    from proxy.check import load  # noqa: PLC0415
    from proxy.observe.log import configure  # noqa: PLC0415
    from proxy.settings import find_config  # noqa: PLC0415

    settings, store = load(find_config(args.config), host=args.host, port=args.port)
    configure()
    _run(Server(settings, store).run())
    return 0


def _run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end on the quickest event loop there is."""
    import uvloop  # noqa: PLC0415 - only servers need it

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


def _demo(args: argparse.Namespace) -> int:
    from proxy import demo  # noqa: PLC0415
    from proxy.observe.log import configure  # noqa: PLC0415

    configure(level="WARNING")
    return _run(demo.run(port=args.port, once=args.once))


def _check(args: argparse.Namespace) -> int:
    from proxy.check import check_config, check_policies, notes_on  # noqa: PLC0415
    from proxy.settings import find_config  # noqa: PLC0415

    problems, notes = list(check_policies(args.policies)), []
    file = find_config(args.config) if args.config is not None or not args.policies else None
    if file is not None:
        found = check_config(file)
        problems, notes = problems + found, [] if found else notes_on(file)
    tried = 0
    if not problems and not args.no_cases:
        tried, problems = asyncio.run(_tried(args.policies, file))
    for line in (*problems, *notes):
        print(line)  # noqa: T201 - this command's output
    if not problems:
        print("no problems found" + (f"; {tried} cases came out as expected" if tried else ""))  # noqa: T201
    return 1 if problems else 0


async def _tried(policies: Sequence[Path], config: Path | None) -> tuple[int, list[Problem]]:
    """Judge the cases beside policies that are right: how many there are, and what is wrong with them."""
    from proxy.cases import trials_beside, trials_of, tried  # noqa: PLC0415
    from proxy.check import load  # noqa: PLC0415
    from proxy.yamlfile import in_order  # noqa: PLC0415

    found = [trials_beside(path) for path in policies]
    if config is not None:
        store = load(config)[1]
        found.append(trials_of(store.snapshot.policies, store.folder))
    trials = [trial for some, _ in found for trial in some]
    problems = [problem for _, some in found for problem in some]
    if trials and not problems:
        async with _scorer_of(config) as scorer:
            problems = await tried(trials, scorer)
    return len(trials), in_order(problems)


def _schema(args: argparse.Namespace) -> int:
    from proxy.schema import published  # noqa: PLC0415

    file = published(args.of)
    print(file if args.path else file.read_text(encoding="utf-8"), end="\n" if args.path else "")  # noqa: T201
    return 0


def _score(args: argparse.Namespace) -> int:
    from proxy.grounding.types import GroundingContext, Source  # noqa: PLC0415

    files = [file for file in args.source if str(file) != "-"]  # "--source a.txt -" ends with the answer's dash
    piped = len(files) < len(args.source) or args.stdin == "-"
    if piped == (args.answer is not None) or args.stdin not in (None, "-") or not files:
        args.parser.error("give --source FILE and one of --answer A or -")
    answer = sys.stdin.read() if piped else args.answer
    sources = tuple(Source(text=_read(file), id=str(file)) for file in files)
    context = GroundingContext.of(sources, args.query)
    trace = asyncio.run(_judged(context, answer, args.policy))
    if sys.stdout.isatty():
        print(_as_table(trace))  # noqa: T201
    else:
        print(json.dumps(trace, ensure_ascii=False, indent=2))  # noqa: T201
    return 0


def _calibrate(args: argparse.Namespace) -> int:
    from proxy.calibrate.command import Options  # noqa: PLC0415 - numpy: only when wanted
    from proxy.calibrate.thresholds import Wish  # noqa: PLC0415
    from proxy.grounding.types import CheckKind  # noqa: PLC0415

    if args.plot and args.plot.suffix.lower() != ".svg":
        args.parser.error("--plot writes SVG; name a file that ends in .svg")
    if args.labelled in (args.out, args.plot) or (args.out and args.out == args.plot):
        args.parser.error("LABELLED.jsonl, --out and --plot must be different files")
    policy = _policy_file(args.policy)
    options = Options(
        labelled=args.labelled,
        wishes=tuple(Wish(quantity=quantity, value=value) for quantity, value in dict.fromkeys(args.wishes)),
        check=CheckKind(args.check) if args.check else None,
        out=args.out,
        plot=args.plot,
        beside=policy.parent if policy == Path(args.policy) else None,
    )
    print(asyncio.run(_calibrated(options, policy, args.config)))  # noqa: T201 - this command's output
    return 0


async def _calibrated(options: Any, policy: Path, config: Path | None) -> str:
    from proxy.calibrate.command import run  # noqa: PLC0415
    from proxy.policy.store import load_policy  # noqa: PLC0415

    async with _scorer_of(config) as scorer:
        return await run(options, load_policy(policy), scorer)


def _replay(args: argparse.Namespace) -> int:
    from proxy.policy.store import load_policy  # noqa: PLC0415
    from proxy.replay.command import Options, run  # noqa: PLC0415

    policy = load_policy(_policy_file(args.policy))
    options = Options(files=tuple(args.audit), tenant=args.tenant, was=args.was)
    report = asyncio.run(run(options, policy, partial(_scorer_of, args.config)))
    if sys.stdout.isatty():
        print(report.text)  # noqa: T201 - this command's output
    else:
        print(json.dumps(report.object, ensure_ascii=False, indent=2))  # noqa: T201
    return 0


def _evaluate(args: argparse.Namespace) -> int:
    from proxy.evaluate.catalogue import Marking  # noqa: PLC0415 - only when wanted
    from proxy.evaluate.command import RESULTS, Options  # noqa: PLC0415

    output = args.output or RESULTS
    options = Options(
        data=args.data,
        output=output,
        report=args.report,
        metrics=args.metrics,
        marking=Marking(thresholds=dict(args.thresholds), tolerance=args.tolerance),
        similarity=args.similarity,
        baseline=args.baseline,
    )
    files = [args.data, options.output, options.page, options.journal, *filter(None, (args.baseline,))]
    if len({file.resolve() for file in files}) < len(files):
        args.parser.error("DATA.jsonl, --output, --report and --baseline must be different files")
    try:
        done = asyncio.run(_evaluated(options, _policy_file(args.policy), args.config))
    except KeyboardInterrupt:
        if options.journal.exists():
            sys.stderr.write("groundwarden: interrupted; the same command goes on from here\n")
        raise
    print(done.summary)  # noqa: T201 - this command's output
    for problem in done.problems:
        sys.stderr.write(f"groundwarden: {' '.join(problem.split())}\n")
    return 1 if done.problems else 0


async def _evaluated(options: Any, policy: Path, config: Path | None) -> Any:
    from proxy import app  # noqa: PLC0415
    from proxy.evaluate.command import run  # noqa: PLC0415
    from proxy.policy.store import load_policy  # noqa: PLC0415

    async with _models_of(config) as (settings, scorer, upstreams):
        judge = app.build_judge(settings, upstreams)
        return await run(options, load_policy(policy), scorer, judge)


@asynccontextmanager
async def _models_of(config: Path | None) -> AsyncIterator[tuple[Settings, Scorer, UpstreamSet]]:
    """What a config.yaml names, or the scorer that ships and nothing else; closed at the end."""
    from proxy import app  # noqa: PLC0415
    from proxy.check import load  # noqa: PLC0415
    from proxy.settings import Settings  # noqa: PLC0415
    from proxy.upstream.model_list import parse_model_list  # noqa: PLC0415
    from proxy.upstream.models import build_upstreams  # noqa: PLC0415

    settings = Settings() if config is None else load(config)[0]
    upstreams = build_upstreams(parse_model_list(list(settings.model_list)))
    scorer = app.build_scorer(settings, upstreams)
    try:
        await upstreams.warm()
        yield settings, scorer, upstreams
    finally:
        await scorer.close()  # before the models, for it may be asking one
        await upstreams.close()


@asynccontextmanager
async def _scorer_of(config: Path | None) -> AsyncIterator[Scorer]:
    """The scorer that a config.yaml names, or the one that ships; closed, with what it asks, at the end."""
    async with _models_of(config) as (_, scorer, _):
        yield scorer


def _policy_file(named: str) -> Path:
    """A policy that ships with the program by its name, any other by its file."""
    from proxy.settings import shipped_policies  # noqa: PLC0415

    shipped = shipped_policies() / f"{named}.yaml"
    return shipped if shipped.exists() else Path(named)


def _read(file: Path) -> str:
    from proxy.files import readable  # noqa: PLC0415

    try:
        with readable(file):
            return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        message = f"{file}: is not UTF-8 text"
        raise ValueError(message) from None


async def _judged(context: Any, answer: str, named: str) -> dict[str, Any]:
    from proxy.app import embedded_scorer  # noqa: PLC0415
    from proxy.guard.answer import AnswerPart  # noqa: PLC0415
    from proxy.guard.assess import Assessor  # noqa: PLC0415
    from proxy.guard.exchange import Meter, assess  # noqa: PLC0415
    from proxy.guard.trace import trace_of  # noqa: PLC0415
    from proxy.policy.store import load_policy  # noqa: PLC0415
    from proxy.scoring.embedded import MODEL_NAME  # noqa: PLC0415
    from proxy.settings import EmbeddedSettings  # noqa: PLC0415

    policy = load_policy(_policy_file(named), scorer=MODEL_NAME)
    scorer = embedded_scorer(EmbeddedSettings())
    try:
        await scorer.warm()
        meter, part = Meter(), AnswerPart(text=answer)
        verdict = await assess(Assessor(scorer), policy, context, part, meter)
        return trace_of((verdict,), (part,), context, policy, meter)
    finally:
        await scorer.close()


def _as_table(trace: dict[str, Any]) -> str:
    from proxy.tables import table  # noqa: PLC0415

    checks = [
        [name, _shown(check["score"]), str(check["threshold"]), "below" if check["below"] else "reached"]
        for name, check in trace["checks"].items()
    ]
    claims = [[claim["text"], claim["kind"], _shown(claim["score"])] for claim in trace["claims"]]
    parts = [f"outcome: {trace['outcome']}", table(["check", "score", "threshold", ""], checks)]
    return "\n\n".join([*parts, table(["claim", "kind", "grounding"], claims)])


def _shown(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"


def _fail(error: Exception) -> int:
    from proxy.grounding.errors import GroundwardenError  # noqa: PLC0415
    from proxy.yamlfile import ConfigError  # noqa: PLC0415

    if isinstance(error, ConfigError):
        lines = [str(problem) for problem in error.problems]
    elif isinstance(error, OSError | ValueError | GroundwardenError):
        lines = [str(error)]
    else:
        lines = [f"unexpected {type(error).__name__}: {error}"]
    for line in lines:
        sys.stderr.write(f"groundwarden: {' '.join(line.split())}\n")
    return 1
