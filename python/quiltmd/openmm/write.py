# SPDX-License-Identifier: Apache-2.0
"""A System and a State as OpenMM's objects, and as its XML files.

Every term becomes the force of OpenMM that has the same energy; what has none there (harmonic
impropers, Lennard-Jones beyond a combination rule, CHARMM's switching) becomes a custom force.
OpenMM itself is needed, and is asked for by name where it is not installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..description.custom_forces import CustomForces
from ..description.electric_field import forces_of
from ..description.nonbonded import Nonbonded
from ..description.pair_forms import PAIR_FORMS
from ..description.parts import refuse_other_parts
from ..description.permittivity import without_permittivity
from ..description.restraints import NEVER_LINEAR
from ..description.state import State
from ..description.system import System
from ..description.terms import Terms
from ..errors import QuiltError, one_line
from ..outputs.files import replace_file
from . import tabulated
from .custom_pairs import write_pairs
from .custom_terms import write_forces
from .nonbonded import CONDUCTOR

F64 = npt.NDArray[np.float64]

# Expressions of OpenMM's own readers of CHARMM's files.
IMPROPER = "k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0); pi = 3.141592653589793"
HELD = "k*max(0, periodicdistance(x, y, z, x0, y0, z0)-radius)^2"
HELD_WITHOUT_BOX = "k*((x-x0)^2+(y-y0)^2+(z-z0)^2)"
PULLED = "-(fx*x+fy*y+fz*z)"
SPRING = "k*(max(0, r-upper)^2+max(0, lower-r)^2)"
BY_TYPES = "(a/r6)^2-b/r6; r6=r^6; a=acoef(type1, type2); b=bcoef(type1, type2)"


def write_openmm(
    path: str | os.PathLike[str],
    system: System,
    nonbonded: Nonbonded | None = None,
    box: npt.ArrayLike | None = None,
) -> None:
    """Writes the System as OpenMM System XML, with a default box (3, 3), nm; see `to_openmm`."""
    _write(path, to_openmm(system, nonbonded, box))


def write_openmm_state(path: str | os.PathLike[str], system: System, state: State) -> None:
    """Writes positions, velocities and box as OpenMM State XML."""
    openmm = _openmm()
    bare = openmm.System()
    if state.box is not None:
        bare.setDefaultPeriodicBoxVectors(*state.box)
    for mass in system.masses:
        bare.addParticle(float(mass))
    # The forces of a State tell whether it is periodic.
    periodic = openmm.HarmonicBondForce()
    periodic.setUsesPeriodicBoundaryConditions(state.box is not None)
    bare.addForce(periodic)
    integrator = openmm.VerletIntegrator(0.001)
    context = openmm.Context(bare, integrator, openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(state.positions)
    context.setVelocities(state.velocities)
    _write(path, context.getState(getPositions=True, getVelocities=True))


def to_openmm(
    system: System, nonbonded: Nonbonded | None = None, box: npt.ArrayLike | None = None
) -> Any:
    """The `openmm.System` with the same energies.

    Parameters
    ----------
    system:
        A system whose only pair form is Lennard-Jones.
    nonbonded:
        Settings; by default those that the system states, else the defaults of `Nonbonded`.
    box:
        (3, 3) nm: the default box.  Position restraints that follow the box have their places in
        this one, whatever a barostat does.

    Raises
    ------
    QuiltError
        If OpenMM is not installed, or a term has no counterpart.
    """
    openmm = _openmm()
    settings = nonbonded or system.nonbonded or Nonbonded()
    refuse_other_parts(system, "written for OpenMM", CustomForces)
    if system.pair_form not in ("lennard-jones", "tabulated", *PAIR_FORMS):
        raise QuiltError(f"the pair form {system.pair_form!r} cannot be written for OpenMM")
    if settings.lennard_jones == "pme" and _sigma_epsilon(system, settings) is None:
        raise QuiltError(
            "Lennard-Jones PME with parameters that do not follow the Lorentz-Berthelot rules "
            "cannot be written for OpenMM"
        )
    if settings.switching not in ("none", "potential") or settings.potential_shift:
        raise QuiltError(
            "switching functions of CHARMM and shifted potentials cannot be written for OpenMM: "
            "choose --switching potential or none"
        )
    system, settings = without_permittivity(system, settings)
    made = openmm.System()
    if box is not None:
        made.setDefaultPeriodicBoxVectors(*np.asarray(box))
    for mass in system.masses:
        made.addParticle(float(mass))
    for (i, j), length in zip(
        system.constraints.tolist(), system.constraint_lengths.tolist(), strict=True
    ):
        made.addConstraint(i, j, length)
    for site, kind in _sites(openmm, system):
        made.setVirtualSite(site, kind)
    forces = [*_terms(openmm, system, box, settings), *_constant(openmm, system)]
    forces += write_forces(openmm, system.custom, settings.method != "no-cutoff")
    for pair in () if system.custom is None else system.custom.pairs:
        forces.append(write_pairs(openmm, pair, system.atoms, system.exclusions))
    for force in (*forces, *_pairs(openmm, system, settings, box)):
        made.addForce(force)
    return made


def _sites(openmm: Any, system: System) -> Iterator[tuple[int, Any]]:
    """The virtual sites, each as one of OpenMM's kinds."""
    for members, weights, (*local, cross) in zip(
        system.sites.tolist(),
        system.site_weights.tolist(),
        system.site_offsets.tolist(),
        strict=True,
    ):
        site, *parents = [atom for atom in members if atom >= 0]
        origin, x, y = (of_all[: len(parents)] for of_all in weights)
        plain = not any(local)
        if plain and not cross and len(parents) == 2:
            yield site, openmm.TwoParticleAverageSite(*parents, *origin)
        elif plain and not cross and len(parents) == 3:
            yield site, openmm.ThreeParticleAverageSite(*parents, *origin)
        elif plain and len(parents) == 3:
            area = cross * (x[1] * y[2] - x[2] * y[1])
            yield site, openmm.OutOfPlaneSite(*parents, *origin[1:], area)
        elif not cross and len(parents) >= 3:
            x, y = _directions(x, y)
            yield site, openmm.LocalCoordinatesSite(parents, origin, x, y, openmm.Vec3(*local))
        else:
            raise QuiltError(
                f"the virtual site {system.topology.describe(site)} has a kind that cannot be "
                "written for OpenMM"
            )


def _directions(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """Weights of directions; where a site needs none or one, others that span a plane."""
    rest = [0.0] * (len(x) - 3)
    if not any(x):
        x = [-1.0, 1.0, 0.0, *rest]
    if not any(y):
        choices = [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]
        across = [np.linalg.norm(np.cross(x[:3], choice)) for choice in choices]
        y = [*choices[int(np.argmax(across))], *rest]
    return x, y


def _terms(
    openmm: Any, system: System, box: npt.ArrayLike | None, settings: Nonbonded
) -> Iterator[Any]:
    """A force for each form of which the system has terms."""
    for terms in system.terms.present():
        form = terms.form
        if form.name in _AS_FORCES:
            yield _filled(openmm, *_AS_FORCES[form.name], terms)
        elif form.name in _AS_OTHERS:
            yield _AS_OTHERS[form.name](openmm, terms, box, settings)
        elif form.gives_shape and form.energy:
            yield _custom(openmm, terms)
        elif form.name not in _WITH_OTHERS:
            words = form.plural.replace("_", " ")
            raise QuiltError(f"{words} of the system cannot be written for OpenMM")


def _filled(openmm: Any, kind: str, noun: str, name: str, terms: Terms) -> Any:
    """A force of OpenMM's own for these terms."""
    force = getattr(openmm, kind)()
    if name:
        force.setName(name)
    add = getattr(force, f"add{noun}")
    counts = terms.form.parameters[0].values == "periodicity"
    for members, row in zip(terms.atoms.tolist(), terms.parameters.tolist(), strict=True):
        add(*members, *([int(row[0]), *row[1:]] if counts else row))
    return force


def _custom(openmm: Any, terms: Terms) -> Any:
    """A custom force with the energy that the form states."""
    form = terms.form
    noun = {2: "Bond", 3: "Angle", 4: "Torsion"}[form.atoms]
    force = getattr(openmm, f"Custom{noun}Force")(form.energy)
    for parameter in form.parameters:
        getattr(force, f"addPer{noun}Parameter")(parameter.symbol)
    for members, row in zip(terms.atoms.tolist(), terms.parameters.tolist(), strict=True):
        getattr(force, f"add{noun}")(*members, row)
    return force


def _impropers(openmm: Any, terms: Terms, *_: Any) -> Any:
    force = openmm.CustomTorsionForce(IMPROPER)
    force.addPerTorsionParameter("k")
    force.addPerTorsionParameter("theta0")
    for atoms, (theta0, k) in zip(terms.atoms.tolist(), terms.parameters.tolist(), strict=True):
        force.addTorsion(*atoms, [k / 2, theta0])
    return force


def _maps(openmm: Any, terms: Terms, *_: Any) -> Any:
    force = openmm.CMAPTorsionForce()
    for table in terms.shared:
        force.addMap(len(table), table.T.ravel().tolist())
    for atoms, (number,) in zip(terms.atoms.tolist(), terms.parameters.tolist(), strict=True):
        force.addTorsion(int(number), *atoms[:4], *atoms[1:])
    return force


def _constant(openmm: Any, system: System) -> Iterator[Any]:
    """The constant forces of all forms together."""
    pulls = forces_of(system)
    if not pulls.any():
        return
    force = openmm.CustomExternalForce(PULLED)
    for name in ("fx", "fy", "fz"):
        force.addPerParticleParameter(name)
    for atom in np.flatnonzero(pulls.any(axis=1)).tolist():
        force.addParticle(atom, pulls[atom].tolist())
    yield force


def _springs(openmm: Any, terms: Terms, _: Any, settings: Nonbonded) -> Any:
    force = openmm.CustomBondForce(SPRING)
    force.setUsesPeriodicBoundaryConditions(settings.method != "no-cutoff")
    for name in ("k", "lower", "upper"):
        force.addPerBondParameter(name)
    for atoms, (lower, upper, linear, k) in zip(
        terms.atoms.tolist(), terms.parameters.tolist(), strict=True
    ):
        if linear < NEVER_LINEAR:
            raise QuiltError("a distance restraint that turns linear cannot be written for OpenMM")
        force.addBond(*atoms, [k / 2, lower, upper])
    return force


def _held(openmm: Any, terms: Terms, box: npt.ArrayLike | None, settings: Nonbonded) -> Any:
    values = terms.parameters
    if (values[:, :3] != 0).any() and box is None:
        raise QuiltError("position restraints that follow the box cannot be written without a box")
    if (values[:, 8:] != 1).any():
        raise QuiltError(
            "position restraints that differ between axes cannot be written for OpenMM"
        )
    places = values[:, 3:6] if box is None else values[:, :3] @ np.asarray(box) + values[:, 3:6]
    names, energy = ["k", "x0", "y0", "z0", "radius"], HELD
    if settings.method == "no-cutoff":
        names, energy = names[:4], HELD_WITHOUT_BOX
        if values[:, 7].any():
            raise QuiltError(
                "position restraints with a flat bottom cannot be written without a box"
            )
    force = openmm.CustomExternalForce(energy)
    for name in names:
        force.addPerParticleParameter(name)
    for (atom,), place, (k, radius) in zip(
        terms.atoms.tolist(), places.tolist(), values[:, 6:8].tolist(), strict=True
    ):
        force.addParticle(atom, [k / 2, *place, radius][: len(names)])
    return force


# Forms that OpenMM has a force for: its class, what it calls a term, its name where it needs one.
_AS_FORCES = {
    "bond": ("HarmonicBondForce", "Bond", ""),
    "urey_bradley": ("HarmonicBondForce", "Bond", "UreyBradleyForce"),
    "angle": ("HarmonicAngleForce", "Angle", ""),
    "torsion": ("PeriodicTorsionForce", "Torsion", ""),
    "ryckaert_bellemans": ("RBTorsionForce", "Torsion", ""),
}
_AS_OTHERS: dict[str, Callable[..., Any]] = {
    "improper": _impropers,
    "cmap": _maps,
    "position_restraint": _held,
    "distance_restraint": _springs,
}
_WITH_OTHERS = ("pair14", "constant_force", "opposite_force")  # see _pairs and _constant


def _pairs(
    openmm: Any, system: System, settings: Nonbonded, box: npt.ArrayLike | None
) -> list[Any]:
    force = openmm.NonbondedForce()
    by_rule = _sigma_epsilon(system, settings) if system.pair_form == "lennard-jones" else None
    sigma, epsilon = by_rule if by_rule is not None else (np.ones(1), np.zeros(1))
    types = system.lj_types if by_rule is not None else np.zeros_like(system.lj_types)
    for charge, kind in zip(system.charges.tolist(), types.tolist(), strict=True):
        force.addParticle(charge, float(sigma[kind]), float(epsilon[kind]))
    terms = zip(system.pairs14.tolist(), system.pair14_parameters.tolist(), strict=True)
    special = {(min(pair), max(pair)): row for pair, row in terms}
    if len(special) < len(system.pairs14):
        raise QuiltError("a 1-4 pair that is listed twice cannot be written for OpenMM")
    for i, j in system.exclusions.tolist():
        product, s, e = special.get((i, j), (0.0, 1.0, 0.0))
        force.addException(i, j, product, s if e else 1.0, e)
    _set_method(force, settings)
    force.setEwaldErrorTolerance(settings.pme_tolerance)
    if settings.pme_alpha is not None and settings.pme_grid is not None:
        force.setPMEParameters(settings.pme_alpha, *settings.pme_grid)
    if settings.lennard_jones == "pme":
        _set_lj_pme(force, settings, box)
    forces = [force] if by_rule is not None else [force, _by_types(openmm, system)]
    for one in forces:
        one.setCutoffDistance(settings.cutoff)
        one.setUseSwitchingFunction(settings.switching == "potential")
        if settings.switch_distance is not None:
            one.setSwitchingDistance(settings.switch_distance)
    force.setUseDispersionCorrection(settings.dispersion_correction and by_rule is not None)
    if by_rule is None:
        periodic = settings.method != "no-cutoff"
        by_types = forces[1]
        by_types.setNonbondedMethod(by_types.CutoffPeriodic if periodic else by_types.NoCutoff)
        by_types.setUseLongRangeCorrection(settings.dispersion_correction and periodic)
    return forces


def _set_method(force: Any, settings: Nonbonded) -> None:
    if settings.method == "cutoff":
        raise QuiltError(
            "a plain cutoff cannot be written for OpenMM: choose the method reaction-field with "
            "reaction_field_on_exclusions = false (--no-reaction-field-on-exclusions)"
        )
    if settings.method == "fmm":
        raise QuiltError(
            "OpenMM has no fast multipole method: choose the method pme, whose forces are the same "
            "within the tolerance (--method pme)"
        )
    if settings.method == "reaction-field" and settings.reaction_field_on_exclusions:
        raise QuiltError(
            "in OpenMM excluded pairs do not feel the reaction field: choose "
            "reaction_field_on_exclusions = false (--no-reaction-field-on-exclusions)"
        )
    if settings.method == "reaction-field":
        force.setNonbondedMethod(force.CutoffPeriodic)
        force.setReactionFieldDielectric(settings.dielectric or CONDUCTOR)
    else:
        force.setNonbondedMethod(force.PME if settings.method == "pme" else force.NoCutoff)


def _set_lj_pme(force: Any, settings: Nonbonded, box: npt.ArrayLike | None) -> None:
    """LJPME, with the parameters of this box, since OpenMM would choose others."""
    if box is None:
        raise QuiltError("Lennard-Jones PME cannot be written for OpenMM without a box")
    if settings.dispersion_correction:
        raise QuiltError(
            "OpenMM has no long-range correction beside Lennard-Jones PME: choose "
            "dispersion_correction = false (--no-dispersion-correction)"
        )
    chosen = settings.resolve(np.asarray(box))
    force.setNonbondedMethod(force.LJPME)
    force.setLJPMEParameters(chosen["lj_pme_alpha"], *chosen["lj_pme_grid"])


def _by_types(openmm: Any, system: System) -> Any:
    """The pair form, by tables of types."""
    if system.pair_form == "tabulated":
        force = openmm.CustomNonbondedForce(tabulated.EXPRESSION)
        tabulated.add_functions(openmm, force, [np.asarray(t) for t in system.pair_tables])
    else:
        expression, tables = _form_by_types(system)
        force = openmm.CustomNonbondedForce(expression)
        for name, table in tables.items():
            values = table.ravel().tolist()
            force.addTabulatedFunction(name, openmm.Discrete2DFunction(*table.shape, values))
    force.addPerParticleParameter("type")
    for kind in system.lj_types.tolist():
        force.addParticle([kind])
    for i, j in system.exclusions.tolist():
        force.addExclusion(i, j)
    return force


def _form_by_types(system: System) -> tuple[str, dict[str, F64]]:
    """The energy of a pair, and its tables by their names there."""
    if system.pair_form == "lennard-jones":
        return BY_TYPES, {"acoef": np.sqrt(system.lj_a), "bcoef": system.lj_b}
    form = PAIR_FORMS[system.pair_form]
    tables = dict(zip(form.symbols, map(np.asarray, system.pair_tables), strict=True))
    strengths = [tables[one.symbol] for one in form.parameters if one.is_strength]
    interact = np.any(strengths, axis=0)
    tables |= {name: np.where(interact, tables[name], one) for name, one in form.idle.items()}
    words = [form.energy, *(f"{name}=table_{name}(type1, type2)" for name in tables)]
    return "; ".join(words), {f"table_{name}": table for name, table in tables.items()}


def _sigma_epsilon(system: System, settings: Nonbonded) -> tuple[F64, F64] | None:
    """Sigma and epsilon by type, if the table follows the Lorentz-Berthelot rules.

    To the digits of a prmtop where Lennard-Jones PME, which OpenMM has for these rules alone, is
    written, since other tables cannot be.
    """
    within = 1e-6 if settings.lennard_jones == "pme" else 1e-9
    a, b = np.diag(system.lj_a), np.diag(system.lj_b)
    real = (a > 0) & (b > 0)
    sigma = np.where(real, np.divide(a, b, out=np.ones_like(a), where=real) ** (1 / 6), 0.0)
    epsilon = np.divide(b**2, 4 * a, out=np.zeros_like(a), where=real)
    mean, root = (sigma[:, None] + sigma) / 2, np.sqrt(epsilon[:, None] * epsilon)
    used = np.ix_(*[np.unique(system.lj_types)] * 2)
    good = np.allclose(4 * root * mean**12, system.lj_a, rtol=within, atol=0)
    good = good and np.allclose((4 * root * mean**6)[used], system.lj_b[used], rtol=within, atol=0)
    return (np.where(real, sigma, 1.0), epsilon) if good else None


def _write(path: str | os.PathLike[str], made: Any) -> None:
    replace_file(path, _openmm().XmlSerializer.serialize(made).encode())


def _openmm() -> Any:
    try:
        import openmm
    except ImportError as error:
        raise QuiltError(
            f"OpenMM is needed for this, and cannot be imported ({one_line(error)}): "
            "pip install 'quiltmd[openmm]'"
        ) from None
    return openmm
