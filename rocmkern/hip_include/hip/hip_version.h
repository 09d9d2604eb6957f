// HIP_VERSION and its parts are there from the start.
#pragma once
