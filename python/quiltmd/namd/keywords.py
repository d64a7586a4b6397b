# SPDX-License-Identifier: Apache-2.0
"""Keywords of NAMD that have no counterpart here, so that they are told from misspelt ones.

Source: NAMD User's Guide, version 3.0, the keywords of its sections.
"""

from __future__ import annotations

# Keywords that switch on what a configuration of Quilt has, and where.
IN_TOML = {
    "fixedAtoms": "[[restraint]]",
    "SMD": "[[restraint]] with a moving reference value",
    "IMDon": "[imd]",
    "plumed": '[[external]] kind = "plumed"',
    "GBIS": "[solvent]",
    "alch": "[alchemy]",
    "FEP": "[alchemy]",
    "LJPME": 'lennard_jones = "pme" in [nonbonded]',
}

_BY_SUBJECT = {
    "files": "velDCDfreq forceDCDfile DCDUnitCell outputEnergiesPrecision "
    "restartsave binaryOutput binaryRestart readexclusions scnb XSTfile "
    "XSTfreq vdwGeometricSigma mergeCrossterms waterModel",
    "forces": "limitdist nonbondedScaling vdwForceSwitching LJcorrection "
    "LJcorrectionAlt martiniDielAllow zeroMomentumAlt cosAngles",
    "electrostatics": "FMA FMALevels FMAMp FMAFFT FMAFFTBlock FMATheta MSMGridSpacing "
    "MSMQuality MSMApprox MSMSplit MSMPadding MSMLevels MSMBlockSizeX "
    "MSMBlockSizeY MSMBlockSizeZ MSMSerial FMMLevels FMMPadding "
    "fullDirect PMEInterpOrder MTSAlgorithm longSplitting LJPMETolerance "
    "LJPMEInterpOrder LJPMEGridSpacing LJPMEGridSizeX LJPMEGridSizeY "
    "LJPMEGridSizeZ",
    "implicit solvent": "GBISDelta GBISBeta GBISGamma ionConcentration intrinsicRadiusOffset "
    "solventDielectric SASA sasaBeta LCPO",
    "Drude": "drudeTemp drudeDamping drudeBondLen drudeBondConst drudeHardWall drudeNbTholeCut",
    "minimisation": "velocityQuenching",
    "temperature": "loweAndersenTemp loweAndersenCutoff loweAndersenRate langevinBAOAB "
    "langevinHydrogen reassignFreq reassignTemp reassignIncr reassignHold "
    "rescaleFreq rescaleTemp tCoupleTemp tCoupleFile tCoupleCol "
    "stochRescaleHeat adaptTempMD adaptTempFreq adaptTempTmin "
    "adaptTempTmax adaptTempBins adaptTempDt adaptTempInFile "
    "adaptTempRestartFile adaptTempRestartFreq adaptTempLangevin "
    "adaptTempRescaling adaptTempOutFreq adaptTempCgamma "
    "adaptTempLastStep adaptTempRandom",
    "pressure": "fixCellDims fixCellDimX fixCellDimY fixCellDimZ useConstantRatio "
    "BerendsenPressureCompressibility strainRate excludeFromPressureFile "
    "excludeFromPressureCol pressureProfile pressureProfileSlabs "
    "pressureProfileFreq pressureProfileEwald pressureProfileEwaldX "
    "pressureProfileEwaldY pressureProfileEwaldZ pressureProfileAtomTypes "
    "pressureProfileAtomTypesFile pressureProfileAtomTypesCol",
    "boundaries": "sphericalBCCenter sphericalBCr1 sphericalBCk1 sphericalBCexp1 "
    "sphericalBCr2 sphericalBCk2 sphericalBCexp2 cylindricalBCCenter "
    "cylindricalBCAxis cylindricalBCr1 cylindricalBCl1 cylindricalBCk1 "
    "cylindricalBCexp1 cylindricalBCr2 cylindricalBCl2 cylindricalBCk2 "
    "cylindricalBCexp2",
    "external forces": "consForceFile constantForce consForceScaling rotConstraints "
    "rotConsAxis rotConsPivot rotConsVel movingConstraints movingConsVel "
    "eFieldNormalized mgridforce mgridforcefile mgridforcecol "
    "mgridforcechargecol mgridforcepotfile mgridforcescale mgridforcevoff "
    "mgridforcevolts mgridforcecont1 mgridforcecont2 mgridforcecont3 "
    "mgridforcelite mgridforcechecksize gridforce gridforcefile "
    "gridforcecol gridforcechargecol gridforcepotfile gridforcescale "
    "gridforcecont1 gridforcecont2 gridforcecont3 gridforcevolts "
    "gridforcevoff gridforcelite gridforcechecksize freeEnergy "
    "freeEnergyConfig tclBC tclBCScript tclBCArgs tclForcesScript SMDk "
    "SMDk2 SMDvel SMDdir SMDfile SMDoutputFreq SMDexp TMD TMDk "
    "TMDoutputFreq TMDFile TMDfirststep TMDlaststep TMDInitialRMSD "
    "TMDFinalRMSD TMDDiffRMSD stirring stirFilename stirredAtomsCol "
    "stirStartingTheta stirVel stirAxis stirPivot stirK "
    "symmetryRestraints symmetryFile symmetryk symmetryMatrixFile "
    "symmetryScaleForces symmetryFirstStep symmetryLastStep "
    "symmetryFirstFullStep symmetryLastFullStep commOnly extForces "
    "extForcesCommand extCoordFilename extForceFilename plumed plumedfile "
    "cudaGlobal cudaGlobalConfig",
    "interactive": "IMDon IMDport IMDfreq IMDwait IMDignore QMForces",
    "accelerated": "accelMDdihe accelMDdual accelMDE accelMDalpha accelMDTE "
    "accelMDTalpha accelMDFirstStep accelMDLastStep accelMDOutFreq "
    "accelMDG accelMDGiE accelMDGcMDPrepSteps accelMDGcMDSteps "
    "accelMDGEquiPrepSteps accelMDGEquiSteps accelMDGSigma0P "
    "accelMDGSigma0D accelMDGRestart accelMDGRestartFile "
    "accelMDGStatWindow soluteScaling soluteScalingFactor "
    "soluteScalingFactorCharge soluteScalingFactorVdw soluteScalingFile "
    "soluteScalingCol soluteScalingAll",
    "alchemy": "alchOn alchType alchLambda alchLambda2 alchLambdaIDWS alchEquilSteps "
    "alchFile alchCol alchOutFreq alchOutFile alchVdwShiftCoeff "
    "alchElecLambdaStart alchVdwLambdaEnd alchBondLambdaEnd "
    "alchBondDecouple alchDecouple alchRepLambdaEnd alchWCA "
    "alchLambdaFreq singleTopology sdBondScaling fepOutFreq fepOutFile "
    "les lesFactor lesFile lesCol lesReduceMass lesReduceTemp "
    "pairInteraction pairInteractionFile pairInteractionCol "
    "pairInteractionSelf pairInteractionGroup1 pairInteractionGroup2 "
    "pHSystem pH",
    "quantum": "qmParamPDB qmColumn qmBondColumn QMSimsPerNode QMBondValueType "
    "QMBondDist qmBondScheme qmBaseDir qmConfigLine qmMult qmCharge "
    "qmSoftware qmExecPath qmSecProc qmPrepProc QMChargeMode qmOutStride "
    "qmPositionOutStride qmEnergyStride QMElecEmbed QMSwitching "
    "QMSwitchingType QMPointChargeScheme QMNoPntChrg QMVdwParams "
    "QMLiveSolventSel QMCSMD",
    "parallel": "pairlistMinProcs pairlistsPerCycle splitPatch hgroupCutoff "
    "procAddGroup noPatchesOnZero noPatchesOnOne ldbUnloadZero "
    "ldbUnloadOne ldbUnloadPME ldbUnloadSMP ldbBackgroundScaling "
    "ldbPMEBackgroundScaling firstLdbStep lastLdbStep minAtomsPerPatch "
    "maxPatches maxSelfPart maxPairPart numAtomsSelf numAtomsPair "
    "shiftIOToOne useCkLoop CkLoopSched PMEOffload GPUForceTable "
    "GPUAtomMigration deviceMigration measureMemory stepsPerCycle "
    "outputTiming dieOnBadAtom numInputProcs numOutputProcs",
}
KEYWORDS = tuple(sorted({word for words in _BY_SUBJECT.values() for word in words.split()}))
