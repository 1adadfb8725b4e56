"""Types of the public names, which load on first use."""

from batchcast.attachment import attach as attach
from batchcast.stream import share as share
from foretrain.app.catalogue import catalogue as catalogue
from foretrain.app.doctor import Diagnosis as Diagnosis, doctor as doctor
from foretrain.app.catalogue import register as register
from foretrain.cluster.cluster import Cluster as Cluster
from foretrain.cluster.device import Device as Device
from foretrain.coefficients.coefficients import Coefficients as Coefficients
from foretrain.ensemble.estimate import (
    EnsembleEstimated as EnsembleEstimated,
    ensemble_estimate as ensemble_estimate,
)
from foretrain.ensemble.fleet import fleet as fleet
from foretrain.ensemble.nodes.groups import NodeGroups as NodeGroups
from foretrain.ensemble.nodes.leader import Leader as Leader
from foretrain.ensemble.nodes.pipeline import input_pipeline as input_pipeline
from foretrain.ensemble.result import EnsembleRan as EnsembleRan
from foretrain.ensemble.run.machine import EnergyMeter as EnergyMeter
from foretrain.ensemble.costs import FleetTerms as FleetTerms
from foretrain.ensemble.train import ensemble_run as ensemble_run
from foretrain.errors import (
    ForetrainError as ForetrainError,
    InputError as InputError,
    NoPlanFits as NoPlanFits,
)
from foretrain.evidence.calibrate import anchored as anchored
from foretrain.evidence.calibrate import calibrate as calibrate
from foretrain.evidence.result import Calibrated as Calibrated
from foretrain.evidence.validate import Validation as Validation, validate as validate
from foretrain.jobs.result import Simulated as Simulated
from foretrain.jobs.simulate import simulate as simulate
from foretrain.measured.ensemble_study import EnsembleStudy as EnsembleStudy
from foretrain.measured.queue_study import QueueStudy as QueueStudy
from foretrain.plan.study import CollectiveStudy as CollectiveStudy
from foretrain.plan.plan import Plan as Plan
from foretrain.plan.study import Space as Space, Study as Study
from foretrain.search.search import Answers as Answers
from foretrain.search.export import Exported as Exported, export as export
from foretrain.search.explain.compare import compare as compare
from foretrain.search.explain.compared import Comparison as Comparison, MeasuredStep as MeasuredStep
from foretrain.search.explain.explain import explain as explain
from foretrain.search.explain.explain import Explained as Explained
from foretrain.search.explain.finding import Finding as Finding, Measured as Measured
from foretrain.search.explain.findings import findings as findings
from foretrain.search.import_files import Imported as Imported, import_ as import_
from foretrain.search.largest import Largest as Largest, largest as largest
from foretrain.search.search import mixed as mixed
from foretrain.search.result import SearchResult as SearchResult, WhyNot as WhyNot
from foretrain.search.search import search as search
from foretrain.search.why_not import why_not as why_not
from foretrain.step.curve import CollectiveCurve as CollectiveCurve, collective as collective
from foretrain.step.estimate import estimate as estimate
from foretrain.step.pair import MixedResult as MixedResult
from foretrain.step.result import Estimate as Estimate
from foretrain.study.collective_study import read_collective_study as read_collective_study
from foretrain.study.coefficients import read_calibration as read_calibration
from foretrain.study.ensemble_study import read_ensemble_study as read_ensemble_study
from foretrain.study.catalogue import CatalogueResult as CatalogueResult
from foretrain.study.launch_files import (
    LaunchFile as LaunchFile,
    read_launch_files as read_launch_files,
)
from foretrain.study.measurements import read_measurements as read_measurements
from foretrain.study.queue_study import read_queue_study as read_queue_study
from foretrain.study.study import read_study as read_study, study_from as study_from
from foretrain.workload.graph import Model as Model
from foretrain.workload.workload import Workload as Workload
from foretrain.measured.scale_study import (
    ScaleStudy as ScaleStudy,
)
from foretrain.plan.servers import (
    Servers as Servers,
    Training as Training,
    Updates as Updates,
    Worker as Worker,
)
from foretrain.queueing.fork_join import (
    barrier as barrier,
    best_backup as best_backup,
)
from foretrain.queueing.closed import (
    ClosedNetwork as ClosedNetwork,
    mean_values as mean_values,
    residual_mean_values as residual_mean_values,
)
from foretrain.queueing.segments import (
    DivisibleLayer as DivisibleLayer,
    divisible_layers as divisible_layers,
)
from foretrain.queueing.birth_death import (
    machine_repair as machine_repair,
    repair_throughput as repair_throughput,
)
from foretrain.queueing.fork_join import (
    fork_join_means as fork_join_means,
    fork_join_response as fork_join_response,
)
from foretrain.queueing.placements import (
    Rack as Rack,
    Torus as Torus,
    placement_spread as placement_spread,
)
from foretrain.queueing.provision import (
    cheapest as cheapest,
    provision as provision,
)
from foretrain.queueing.replicas import (
    ReplicatedTraining as ReplicatedTraining,
)
from foretrain.queueing.scale import (
    scale as scale,
)
from foretrain.queueing.segments import (
    Machine as Machine,
)
from foretrain.queueing.servers.chrome import (
    chrome_trace as chrome_trace,
)
from foretrain.queueing.servers.coarse import (
    coarse_training as coarse_training,
)
from foretrain.queueing.step_fit import (
    fit_steps as fit_steps,
)
from foretrain.queueing.step_fit import (
    TimedStep as TimedStep,
)
from foretrain.study.scale_sections import (
    read_profile as read_profile,
    write_profile as write_profile,
)
from foretrain.study.scale_study import (
    read_scale_study as read_scale_study,
)
from foretrain.queueing.scaled import Scaled as Scaled

__all__: list[str]
