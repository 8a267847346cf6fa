// expect: and before it the generator where the model has no words to say
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

using Model = nn::Sequential<nn::Linear<3, 8>, nn::Relu<8>>;
using Train = GradientAccumulation<Model, Chunked<nn::BasicGenerator<8>, nn::CrossEntropy>>;

Train::Objective objective() { return Train::Objective(Model(), nn::CrossEntropy()); }
