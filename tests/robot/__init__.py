"""The robot operator: it answers generated requests by what it reads on the console's screen, and by nothing else.

How it decides whether something is wrong (its oracle):

1. Each case has an order sheet (`case.Order`): the rows that a prompt must show, and the effects that may follow. The
   order is made with the case, by the generator, and never by code of the product.
2. A case is honest or hostile. An honest call does what the order says, however odd its texts are; the robot must
   recognise it on screen and be able to approve it. A hostile call does something else and tries to look the same.
3. The robot reads the whole prompt in a terminal (`eyes`), compares each row with the order in a notation written for
   it alone (`notation`), with a person's eyesight (`lookalikes`), and approves only what matches. It denies the rest.
4. A service writes down every call it receives, word for word (`service`). It is a difference if
   - something happened that the robot did not approve, or that is not on the order sheet of what it approved;
   - the screen says `done` and the service did not do all of it, or `failed`, `denied` or `nobody answered` and the
     service did something that the screen does not name, or it happened more often than it was approved;
   - an honest call cannot be recognised, approved or finished, so that the robot cannot pass by denying everything;
   - a warning, a whole value or a request that counts was not on screen when it was answered.

What the robot cannot see: a quote does not tell a wrapped line from a new one, and blanks at the end of a row are not
drawn, so it accepts either there.
"""
